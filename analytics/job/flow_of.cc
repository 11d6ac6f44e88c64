// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/flow_of.h"

#include <array>

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

std::optional<size_t> DataSenderOf(const Connection& connection, const FlowSummaries& flows) {
  std::array<bool, 2> may_send = {true, true};
  bool is_observed = false;
  for (size_t end = 0; end < 2; ++end) {
    const FlowCounts* const sent = CarriedFrom(end, connection, flows);
    if (sent == nullptr) continue;
    if (sent->DataBytes() > 0) {
      may_send[1 - end] = false;
      is_observed = true;
    } else if (sent->control_messages > 0) {
      may_send[end] = false;
      is_observed = true;
    }
  }
  if (!is_observed || may_send[0] == may_send[1]) return std::nullopt;
  return may_send[0] ? 0 : 1;
}

}  // namespace rocescope
