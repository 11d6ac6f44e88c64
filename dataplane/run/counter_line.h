// SPDX-License-Identifier: BSD-3-Clause
// A line of counters.jsonl: what was read of one entity at one time. README.md has the format.
#pragma once

#include <cstdint>
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
  Timestamp time;
  CounterEntity entity;
  std::vector<std::pair<Metric, uint64_t>> metrics;  // in the table's order once read; not empty
};

// No line is longer, without its end.
inline constexpr size_t kLongestCounterLine = size_t{16} << 10;

// The error says what was expected, and of which key.
Result<CounterLine> ParseCounterLine(std::string_view text);

// Appends the line and its end.
void AppendCounterLine(const CounterLine& line, std::string& out);

}  // namespace rocescope
