// SPDX-License-Identifier: BSD-3-Clause
// Packets that later packets of their flow overtook between two taps.
#pragma once

#include <map>
#include <set>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {

struct Overtaken {
  topology::NodeIndex after = topology::kNone;   // the last switch that they passed in order
  topology::NodeIndex before = topology::kNone;  // the first switch at which they were late
  double packets = 0;
};

// Returns the flows whose packets were reordered and not lost, although receivers sent NAKs for
// them: no evidence of loss. Empty if too few packets were reordered, or if switches spray packets.
std::map<FlowKey, Overtaken> OvertakenPackets(const DiagnosisInput& input);

// The NICs at the ends of these flows. They count NAKs and packets out of sequence without a loss,
// and the receivers respond to a packet only after those that it overtook.
struct ReorderedEnds {
  std::set<topology::NicIndex> senders;
  std::set<topology::NicIndex> receivers;
};
ReorderedEnds EndsOfReordered(const DiagnosisInput& input);

}  // namespace rocescope
