// SPDX-License-Identifier: BSD-3-Clause
// On which part of its path a flow lost packets, from the taps that saw them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"

namespace rocescope {

// NAKs for lost packets in the windows of the input.
struct Naks {
  std::map<FlowKey, double> by_flow;   // the flow that lost packets, not that of the NAKs
  std::map<size_t, double> by_window;  // row index
  double all = 0;

  size_t first() const { return by_window.begin()->first; }  // requires all > 0
  size_t last() const { return by_window.rbegin()->first; }
};

// Returns the NAKs, except those of flows whose packets were reordered (reordering.h).
Naks NaksOf(const DiagnosisInput& input);

// The part of its path on which a flow lost packets, according to the taps.
struct Between {
  size_t first = 0;       // index of the last port whose switch had received them
  size_t end = SIZE_MAX;  // index of the first port whose switch had not received them

  bool Contains(size_t port) const { return port >= first && port < end; }
};

// `ports`: sending ports from the source to the destination. `naks`: NAKs for packets of the flow.
// Returns the whole path if the taps do not show the part, or contradict each other.
Between BetweenTaps(const DiagnosisInput& input, const std::vector<topology::PortIndex>& ports,
                    const FlowKey& flow, double naks);

}  // namespace rocescope
