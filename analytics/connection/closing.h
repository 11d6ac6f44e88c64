// SPDX-License-Identifier: BSD-3-Clause
// What is said of connections that end. When a job restarts, all queue pairs of a host pair end
// within moments; matching the whole pair for each of them would take the square of their number.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/pair_answer.h"

namespace rocescope {

class ClosingAnswers {
 public:
  // The connection of an active flow, by what was known a moment ago: a pair is matched anew once
  // it had a record for every kFlowsPerRecord of its flows, so that the work per record is bounded.
  PairConnection Of(const FlowStore& store, const KnownPairs& known, uint32_t flow);

  void Forget(uint32_t pair) { answers_.erase(pair); }
  void ForgetAll() { answers_.clear(); }

  uint64_t flows_matched() const { return flows_matched_; }

  static constexpr size_t kFlowsPerRecord = 16;

 private:
  struct Answer {
    uint64_t records = 0;  // that the pair had
    PairMatching matching;
  };
  std::unordered_map<uint32_t, Answer> answers_;  // by host pair
  uint64_t flows_matched_ = 0;
};

}  // namespace rocescope
