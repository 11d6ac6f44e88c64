// SPDX-License-Identifier: BSD-3-Clause
// Converts the matching of one host pair to connections with ends, evidence and times.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/pair_matching.h"

namespace rocescope {

struct PairConnection {
  // Flows of side 0 and side 1; kNoFlow: not observed or unknown.
  uint32_t flows[2] = {kNoFlow, kNoFlow};
  Connection connection;
};

std::vector<PairConnection> AnswerPair(const FlowStore& store, const KnownPairs& known,
                                       uint32_t pair);

// Returns the connection of one active flow. `matching` may be slightly older than the flows.
PairConnection AnswerFlow(const FlowStore& store, const KnownPairs& known,
                          const PairMatching& matching, uint32_t flow);

}  // namespace rocescope
