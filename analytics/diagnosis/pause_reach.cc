// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/pause_reach.h"

#include <algorithm>
#include <vector>

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

enum class Answer { kPaused, kNotPaused, kUnknown };

// Whether one of the two counters, of pauses that the port received or that its peer sent, grew.
Answer ByCounters(const DiagnosisInput& input, PortIndex port, Metric count, Metric time,
                  Timestamp since) {
  Answer answer = Answer::kUnknown;
  if (port == kNone) return answer;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = input.EntityOf(port, priority);
    for (const Metric metric : {count, time}) {
      const MetricSeries* series = input.parts().metrics.Find(entity, metric);
      if (series == nullptr || series->last_reading() <= since) continue;
      const bool is_paused = std::ranges::any_of(series->windows(), [&](const WindowValue& at) {
        return at.value > 0 && input.parts().metrics.StartOf(at.window + 1) > since;
      });
      if (is_paused) return Answer::kPaused;
      answer = Answer::kNotPaused;
    }
  }
  return answer;
}

bool IsNeverPaused(const DiagnosisInput& input, PortIndex port, Timestamp since) {
  const Answer own = ByCounters(input, port, Metric::kPfcRx, Metric::kPfcRxTime, since);
  if (own != Answer::kUnknown) return own == Answer::kNotPaused;
  return ByCounters(input, input.fabric().Peer(port), Metric::kPfcTx, Metric::kPfcTxTime, since) ==
         Answer::kNotPaused;
}

std::vector<NodeIndex> SwitchesAt(const topology::Fabric& fabric, const Place& place) {
  if (place.kind == PlaceKind::kSwitch) return {place.index};
  if (place.kind != PlaceKind::kLink) return {};
  std::vector<NodeIndex> switches;
  for (const PortIndex end : fabric.link(place.index).ends) {
    const NodeIndex node = fabric.port(end).node;
    if (fabric.node(node).IsSwitch()) switches.push_back(node);
  }
  return switches;
}

}  // namespace

bool IsFreeOfPauses(const DiagnosisInput& input, const Finding& finding) {
  const topology::Fabric& fabric = input.fabric();
  const std::vector<NodeIndex> switches = SwitchesAt(fabric, finding.place);
  const Timestamp since = finding.from - input.parts().metrics.window();
  return !switches.empty() && std::ranges::all_of(switches, [&](NodeIndex node) {
    const topology::Node& of = fabric.node(node);
    for (PortIndex port = of.first_port; port < of.first_port + of.port_count; ++port) {
      if (fabric.port(port).link != kNone && !IsNeverPaused(input, port, since)) return false;
    }
    return true;
  });
}

}  // namespace rocescope
