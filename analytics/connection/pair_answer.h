// SPDX-License-Identifier: BSD-3-Clause
// The connections of one host pair, worked out from the present state of its flows.
#pragma once

#include <utility>
#include <vector>

#include "analytics/connection/flow_store.h"

namespace rocescope {

struct PairConnection {
  uint32_t flows[2] = {kNoFlow, kNoFlow};  // of side 0 and 1; one is kNoFlow unless paired
  Connection connection;
};

std::vector<PairConnection> AnswerPair(const FlowStore& store, uint32_t pair);

}  // namespace rocescope
