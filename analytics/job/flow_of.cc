// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/flow_of.h"

#include <algorithm>

namespace rocescope {

const FlowCounts* CarriedFrom(size_t from, const Connection& connection,
                              const std::vector<FlowSummary>& flows) {
  const ConnectionEndpoint& source = connection.endpoints[from];
  const ConnectionEndpoint& destination = connection.endpoints[1 - from];
  if (!destination.qpn) return nullptr;
  const FlowKey key{.source = source.address,
                    .destination = destination.address,
                    .destination_qpn = *destination.qpn,
                    .segment = destination.segment};
  const auto at = std::ranges::lower_bound(flows, key, {}, &FlowSummary::flow);
  if (at == flows.end() || at->flow != key) return nullptr;
  return at->Of(connection.valid_until);
}

}  // namespace rocescope
