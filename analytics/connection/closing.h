// SPDX-License-Identifier: BSD-3-Clause
// Computes the final state of connections that end. When a job restarts, all queue pairs of a host
// pair end almost at once; matching the whole pair for each of them would take quadratic time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/pair_answer.h"

namespace rocescope {

class ClosingAnswers {
 public:
  // Returns the connection of an active flow from a recent matching. A host pair is matched
  // again only after one record for every kFlowsPerRecord of its flows has arrived. This bounds the
  // work per record.
  PairConnection Of(const FlowStore& store, const KnownPairs& known, uint32_t flow);

  void Forget(uint32_t pair) { answers_.erase(pair); }
  void ForgetAll() { answers_.clear(); }

  uint64_t flows_matched() const { return flows_matched_; }

  static constexpr size_t kFlowsPerRecord = 16;

 private:
  struct Answer {
    uint64_t records = 0;  // number of records of the pair at that time
    PairMatching matching;
  };
  std::unordered_map<uint32_t, Answer> answers_;  // indexed by host pair
  uint64_t flows_matched_ = 0;
};

}  // namespace rocescope
