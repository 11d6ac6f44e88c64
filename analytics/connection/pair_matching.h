// SPDX-License-Identifier: BSD-3-Clause
// Who is whose partner within a host pair, from the present state of its flows.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/matching.h"

namespace rocescope {

// A flow, or a queue pair number that a known pair names and that no packet went to.
struct PairMember {
  FlowVersion version;
  Qpn qpn;
  RowMatch match;  // partners are places on the other side

  uint32_t flow() const { return version.flow; }
};

struct PairMatching {
  std::vector<PairMember> sides[2];
  std::vector<uint32_t> places[2];  // of a flow's position on its side; kNoFlow: not a member

  uint32_t PlaceOf(const FlowState& flow) const {
    const std::vector<uint32_t>& side = places[flow.side];
    return flow.position < side.size() ? side[flow.position] : kNoFlow;
  }
};

// Flows whose partners a CM exchange named are left out.
PairMatching MatchPair(const FlowStore& store, const KnownPairs& known, uint32_t pair);

// Whether the tap's view of the flow's responses tells flows in lock step apart.
bool IsOrdered(const FlowAtTap& at_tap);

// The tap whose view of the flow's responses says most; nullptr if none says anything.
const FlowAtTap* BestTap(const FlowStore& store, const FlowState& flow);

// The users of a flow's grants that carry a real share of them; more than one are stripes.
std::vector<const GrantUse*> UsersOf(const FlowStore& store, const FlowState& flow);

}  // namespace rocescope
