// SPDX-License-Identifier: BSD-3-Clause
// The connections of one host pair, in words: from who is whose partner to ends, evidence, times.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/pair_matching.h"

namespace rocescope {

struct PairConnection {
  uint32_t flows[2] = {kNoFlow, kNoFlow};  // of side 0 and 1; kNoFlow: not seen or not known
  Connection connection;
};

std::vector<PairConnection> AnswerPair(const FlowStore& store, const KnownPairs& known,
                                       uint32_t pair);

// The connection of one active flow, by a matching that may be a little older than the flows.
PairConnection AnswerFlow(const FlowStore& store, const KnownPairs& known,
                          const PairMatching& matching, uint32_t flow);

}  // namespace rocescope
