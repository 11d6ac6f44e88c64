// SPDX-License-Identifier: BSD-3-Clause
// Columns that line up, for reports that people read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/count_text.h"  // IWYU pragma: export

namespace rocescope {

enum class Align : uint8_t { kLeft, kRight };

class TextTable {
 public:
  struct Column {
    std::string_view title;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells may hold what files say: they are printed as Visible makes them.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Each line starts with `indent` spaces; columns whose cells are all empty are left out.
  std::string Render(size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "98.3 kB", decimal units.
std::string HumanBytes(uint64_t bytes);

// "12.3 us", "10.02 s", "2 min 5 s", "1 h 0 min".
std::string HumanDuration(int64_t nanoseconds);

// The same, before or after something: "+12.3 us", "-5.1 us".
std::string SignedDuration(int64_t nanoseconds);

// A confidence of 0 to 1 with two digits, never rounded up: "0.99" for 0.9899..., ">0.99" above.
std::string ConfidenceText(double confidence);

}  // namespace rocescope
