// SPDX-License-Identifier: BSD-3-Clause
// A line of counters.jsonl: the counters of one entity at one time. README.md describes the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"

namespace rocescope {

struct CounterLine {
  Timestamp time;                    // timestamp of the reading
  std::optional<Timestamp> arrival;  // unset: equal to `time`
  CounterEntity entity;
  // Not empty; in the order of the table after parsing.
  std::vector<std::pair<Metric, uint64_t>> metrics;

  // When the reading arrived at the collector. It may be slightly before `time`, because clocks
  // differ.
  Timestamp Arrival() const { return arrival.value_or(time); }
};

// Maximum length of a line in bytes, without the newline.
inline constexpr size_t kLongestCounterLine = size_t{16} << 10;

// The error names the key and says what was expected.
Result<CounterLine> ParseCounterLine(std::string_view text);

// Appends the line and a newline. Metrics are in the order of the table.
void AppendCounterLine(const CounterLine& line, std::string& out);

// The part of a line that is the same in all lines of an entity: `,"kind":...,"metrics":{`.
std::string EntityPartOfLine(const CounterEntity& entity);

}  // namespace rocescope
