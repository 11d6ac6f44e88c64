// SPDX-License-Identifier: BSD-3-Clause
// Flows whose packets are overtaken by later ones between two taps.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {

struct Overtaken {
  topology::NodeIndex after = topology::kNone;   // the last switch that they passed in order
  topology::NodeIndex before = topology::kNone;  // the first switch at which they were late
  double packets = 0;                            // number of overtaken packets
};

// The flows whose packets were reordered, not lost, and the windows in which they were. NAKs for
// packets of these flows are no evidence of loss.
struct Reordering {
  std::map<FlowKey, Overtaken> flows;
  double packets = 0;
  size_t first = 0;  // windows, by row index
  size_t last = 0;
  size_t detected_at = 0;  // the first window in which there are enough packets and windows
  // NICs most of whose retransmitted and late packets belong to these flows. They count NAKs and
  // packets out of sequence without a loss, and the receivers respond to a packet only after those
  // that it overtook.
  std::set<topology::NicIndex> senders;
  std::set<topology::NicIndex> receivers;
};

// Without flows if too few packets were reordered, or if switches spray packets.
Reordering FindReordering(const DiagnosisInput& input);

}  // namespace rocescope
