// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/flow_of.h"

namespace rocescope {

std::optional<FlowKey> FlowFrom(size_t from, const Connection& connection) {
  const ConnectionEndpoint& destination = connection.endpoints[1 - from];
  if (!destination.qpn) return std::nullopt;
  return FlowKey{.source = connection.endpoints[from].address,
                 .destination = destination.address,
                 .destination_qpn = *destination.qpn,
                 .segment = destination.segment};
}

std::unordered_map<FlowKey, FlowKey, FlowKeyHash> OtherWays(const ConnectionList& connections) {
  std::unordered_map<FlowKey, FlowKey, FlowKeyHash> other;
  for (const Connection& connection : connections) {
    const auto there = FlowFrom(0, connection);
    const auto back = FlowFrom(1, connection);
    if (!there || !back) continue;
    other[*there] = *back;
    other[*back] = *there;
  }
  return other;
}

const FlowCounts* CarriedFrom(size_t from, const Connection& connection,
                              const FlowSummaries& flows) {
  const std::optional<FlowKey> key = FlowFrom(from, connection);
  if (!key) return nullptr;
  const FlowSummary* const flow = flows.Find(*key, &FlowSummary::flow);
  return flow == nullptr ? nullptr : flow->Of(connection.valid_until);
}

}  // namespace rocescope
