// SPDX-License-Identifier: BSD-3-Clause
// Matches the flows of a host pair, based on their current state.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/matching.h"

namespace rocescope {

// A flow, or a queue pair number from a known pair without any packets.
struct PairMember {
  FlowVersion version;
  Qpn qpn;
  RowMatch match;  // partners are indices on the other side

  uint32_t flow() const { return version.flow; }
};

struct PairMatching {
  std::vector<PairMember> sides[2];
  std::vector<uint32_t> places[2];  // index by a flow's position on its side; kNoFlow: not a member

  uint32_t PlaceOf(const FlowState& flow) const {
    const std::vector<uint32_t>& side = places[flow.side];
    return flow.position < side.size() ? side[flow.position] : kNoFlow;
  }
};

// Flows whose partners are known from a CM exchange are excluded.
PairMatching MatchPair(const FlowStore& store, const KnownPairs& known, uint32_t pair);

// Whether the tap's view of the flow's responses distinguishes flows in lock step.
bool IsOrdered(const FlowAtTap& at_tap);

// Returns the tap with the most information about the flow's responses, or nullptr if there is
// none.
const FlowAtTap* BestTap(const FlowStore& store, const FlowState& flow);

// Returns the flows that use a significant share of a flow's grants; several of them are a stripe.
std::vector<const GrantUse*> UsersOf(const FlowStore& store, const FlowState& flow);

}  // namespace rocescope
