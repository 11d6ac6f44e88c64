// SPDX-License-Identifier: BSD-3-Clause
// A compact form of CounterRecords for sources that read the same counters of an entity together
// and repeatedly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"

namespace rocescope {

// An entity and the metrics that each of its readings contains.
struct CounterGroup {
  CounterEntity entity;
  std::vector<Metric> metrics;
  uint32_t number = 0;  // the groups of a source are numbered from 0
};
using CounterGroupPointer = std::shared_ptr<const CounterGroup>;

// The values of a group at one time. They mean the same as a CounterRecord for each metric, in the
// order of the metrics.
struct ReadingRecord {
  CounterGroupPointer group;
  Timestamp event_time;
  Timestamp arrival_time;
  size_t first = 0;  // position of its first value in RecordBatch::reading_values
};

// State of each group. A lookup compares pointers, not names.
template <typename State>
class ByCounterGroup {
 public:
  // The state, and whether the group is new. The state of another group with the same number, of
  // another source, is lost.
  std::pair<State&, bool> Of(const CounterGroupPointer& group) {
    constexpr uint32_t kMost = uint32_t{1} << 20;
    const uint32_t number = group->number % kMost;
    if (number >= states_.size()) states_.resize(number + 1);
    auto& [of, state] = states_[number];
    if (of == group) return {state, false};
    of = group;
    state = State();
    return {state, true};
  }
  // Null: not known.
  const State* Find(const CounterGroupPointer& group) const {
    return group->number < states_.size() && states_[group->number].first == group
               ? &states_[group->number].second
               : nullptr;
  }

 private:
  std::vector<std::pair<CounterGroupPointer, State>> states_;
};

}  // namespace rocescope
