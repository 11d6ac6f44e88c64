// SPDX-License-Identifier: BSD-3-Clause
// Tables with aligned columns for text reports.
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

  // Cells may contain text from input files; it is escaped by Visible.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Indents each line by `indent` spaces and omits columns without content.
  std::string Render(size_t indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns "98.3 kB" (decimal units).
std::string HumanBytes(uint64_t bytes);

// Returns "12.3 us", "10.02 s", "2 min 5 s" or "1 h 0 min".
std::string HumanDuration(int64_t nanoseconds);

// Returns a signed duration: "+12.3 us" or "-5.1 us".
std::string SignedDuration(int64_t nanoseconds);

// Returns a confidence from 0 to 1 with two digits, rounded down: "0.99" for 0.989, ">0.99" for
// more than 0.99.
std::string ConfidenceText(double confidence);

}  // namespace rocescope
