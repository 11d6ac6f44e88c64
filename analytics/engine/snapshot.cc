// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/engine/snapshot.h"

namespace rocescope {

const FlowPath* Snapshot::PathOf(const FlowKey& flow) const {
  return paths->Find(flow, &FlowPath::flow);
}

std::vector<const FlowPath*> Snapshot::PathsBetween(topology::NicIndex source,
                                                    topology::NicIndex destination) const {
  std::vector<const FlowPath*> found;
  if (fabric == nullptr) return found;
  for (const topology::NicAddress& from : fabric->nic(source).addresses) {
    for (const topology::NicAddress& to : fabric->nic(destination).addresses) {
      if (from.segment != to.segment) continue;
      // Keys are sorted by addresses first, so these flows are adjacent.
      auto at = paths->LowerBound(FlowKey{.source = from.address, .destination = to.address},
                                  &FlowPath::flow);
      for (; at != paths->end(); ++at) {
        if (at->flow.source != from.address || at->flow.destination != to.address) break;
        if (at->flow.segment == from.segment) found.push_back(&*at);
      }
    }
  }
  return found;
}

}  // namespace rocescope
