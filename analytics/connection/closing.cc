// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/closing.h"

namespace rocescope {

PairConnection ClosingAnswers::Of(const FlowStore& store, const KnownPairs& known, uint32_t flow) {
  if (store.flow(flow).management) return AnswerFlow(store, known, {}, flow);
  const uint32_t number = store.flow(flow).pair;
  const HostPair& pair = store.pair(number);
  const size_t flows = pair.flows[0].size() + pair.flows[1].size();
  const auto [place, is_new] = answers_.try_emplace(number);
  Answer& answer = place->second;
  if (is_new || (pair.records - answer.records) * kFlowsPerRecord >= flows) {
    answer = {.records = pair.records, .matching = MatchPair(store, known, number)};
    flows_matched_ += flows;
  }
  return AnswerFlow(store, known, answer.matching, flow);
}

}  // namespace rocescope
