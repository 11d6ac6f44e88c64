// SPDX-License-Identifier: BSD-3-Clause
// Tables with aligned columns for text reports.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
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
    // Columns with a greater number are the first that a table loses which is too wide. Columns
    // with 0 are always shown.
    uint8_t dispensable = 0;
  };
  // The first characters of the lines of Deferred. Text from input files cannot contain them,
  // because Visible escapes control characters.
  static constexpr char kDeferredHead = '\x01';
  static constexpr char kDeferredRow = '\x02';

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells may contain text from input files; it is escaped by Visible.
  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Indents each line by `indent` spaces and omits columns without content. If lines would be
  // longer than `width`, the last column is wrapped if it contains text and at least 30 characters
  // of it fit; otherwise dispensable columns are omitted, and named below the table. A table can
  // still be wider.
  std::string Render(size_t indent, size_t width = std::numeric_limits<size_t>::max()) const;

  // The table as text that FitText renders when it knows the width.
  std::string Deferred(size_t indent) const;
  // Renders the lines of Deferred.
  static std::string RenderDeferred(std::string_view head, std::span<const std::string_view> rows,
                                    size_t width);

 private:
  // Returns the shown columns.
  std::vector<size_t> Choose(size_t indent, size_t width, std::vector<size_t>& widths,
                             std::vector<size_t>& omitted) const;

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
