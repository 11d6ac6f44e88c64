// SPDX-License-Identifier: BSD-3-Clause
// Columns that line up, for reports that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

enum class Align : uint8_t { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string_view title;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }

  // Each line starts with `indent` spaces; columns whose cells are all empty are left out.
  std::string Render(size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "98,308".
std::string WithThousands(uint64_t value);

// "98.3 kB", decimal units.
std::string HumanBytes(uint64_t bytes);

// "12.3 us".
std::string HumanDuration(int64_t nanoseconds);

// "1 edge", "2 edges".
std::string Counted(uint64_t count, std::string_view noun);

}  // namespace rocescope
