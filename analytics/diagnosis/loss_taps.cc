// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/loss_taps.h"

#include <algorithm>

#include "analytics/diagnosis/reordering.h"
#include "analytics/job/flow_of.h"

namespace rocescope {

using topology::PortIndex;

Naks NaksOf(const DiagnosisInput& input) {
  const auto other = OtherWays(input.parts().connections);
  const std::map<FlowKey, Overtaken>& overtaken = input.reordering().flows;
  Naks naks;
  for (const auto& [flow, windows] : input.parts().losses.losses()) {
    const auto refused = other.find(flow);
    if (refused == other.end() || overtaken.contains(refused->second)) continue;
    for (const LossWindow& window : windows) {
      const size_t place = input.PlaceOf(window.window);
      if (place >= input.windows() || window.refused == 0) continue;
      const auto count = static_cast<double>(window.refused);
      naks.by_flow[refused->second] += count;
      naks.by_window[place] += count;
      naks.all += count;
    }
  }
  return naks;
}

// Each NAK stands for at least one packet. If the tap of a switch saw about as many packets out of
// order, it saw only their retransmissions: they were lost before it. If it saw almost none, they
// were lost after it.
Between BetweenTaps(const DiagnosisInput& input, const std::vector<PortIndex>& ports,
                    const FlowKey& flow, double naks) {
  const int64_t begin = input.parts().metrics.WindowOf(input.BeginOf(0));
  const std::vector<LossObservation> taps = input.parts().losses.ObservationsOf(
      flow, begin, begin + static_cast<int64_t>(input.windows()));
  Between between;
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto tap =
        std::ranges::find(taps, input.fabric().port(ports[i]).node, &LossObservation::node);
    if (tap == taps.end()) continue;
    const auto late = static_cast<double>(tap->late);
    if (late >= input.thresholds().lost_before_tap_ratio * naks) {
      between.end = std::min(between.end, i);
    } else if (late <= input.thresholds().lost_behind_tap_ratio * naks && tap->retransmitted > 0) {
      between.first = i;
    }
  }
  // Packets can also be reordered without a loss.
  return between.first < between.end ? between : Between();
}

}  // namespace rocescope
