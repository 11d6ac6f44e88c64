// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/flow_of.h"

namespace rocescope {

const FlowCounts* CarriedFrom(size_t from, const Connection& connection,
                              const FlowSummaries& flows) {
  const ConnectionEndpoint& source = connection.endpoints[from];
  const ConnectionEndpoint& destination = connection.endpoints[1 - from];
  if (!destination.qpn) return nullptr;
  const FlowKey key{.source = source.address,
                    .destination = destination.address,
                    .destination_qpn = *destination.qpn,
                    .segment = destination.segment};
  const FlowSummary* const flow = flows.Find(key, &FlowSummary::flow);
  return flow == nullptr ? nullptr : flow->Of(connection.valid_until);
}

}  // namespace rocescope
