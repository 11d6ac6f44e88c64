// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/flow_owner.h"

#include <algorithm>

#include "analytics/job/flow_of.h"

namespace rocescope {

FlowOwners::FlowOwners(const ConnectionList& connections, const Attribution& attribution) {
  const auto claims = [](const EndClaims& ends) { return ends[0] || ends[1]; };
  if (std::ranges::none_of(attribution.endpoints, claims)) return;
  owners_.reserve(2 * connections.size());
  size_t i = 0;
  for (const Connection& connection : connections) {
    if (i == attribution.endpoints.size()) break;
    const EndClaims& ends = attribution.endpoints[i++];
    for (size_t end = 0; end < ends.size(); ++end) {
      const auto flow = FlowFrom(end, connection);
      if (flow) owners_[*flow] = ends[end] ? &*ends[end] : nullptr;
    }
  }
}

}  // namespace rocescope
