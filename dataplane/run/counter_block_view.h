// SPDX-License-Identifier: BSD-3-Clause
// The fields of a decompressed block of counters.columns, as views of its bytes. Content from
// outside costs at most a fixed multiple of its size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataplane/record/counter_entity.h"

namespace rocescope::columns {

// A column; without planes, all its differences are 0.
struct ColumnView {
  uint32_t metric = 0;
  std::array<std::string_view, sizeof(uint64_t)> planes;
  size_t plane_count = 0;
};

struct BlockView {
  std::vector<std::string_view> metrics;
  std::vector<std::string_view> entities;  // messages
  size_t readings = 0;
  ColumnView numbers;
  ColumnView arrivals;
  ColumnView delays;
  std::vector<ColumnView> values;
};

// `block` must outlive the view. The error says what was expected.
Result<BlockView> ViewBlock(std::string_view block);

struct EntityView {
  CounterEntity entity;
  std::vector<uint32_t> metrics;  // numbers, unchecked
};
Result<EntityView> ReadEntityOfBlock(std::string_view message);

// Writes `count` differences, still zigzag-coded, to `out`.
Status Expand(const ColumnView& column, size_t count, std::vector<uint64_t>& out);

}  // namespace rocescope::columns
