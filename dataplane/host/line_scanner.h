// SPDX-License-Identifier: BSD-3-Clause
// Reads one line of tool output from left to right. The first thing that is not there stops the
// scanner: everything after it reads as 0 or empty, and `expected` says what was missing. So a
// format is written down as it is printed, and checked once at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

class LineScanner {
 public:
  explicit LineScanner(std::string_view text) : rest_(text) {}

  // Takes `text` if it comes next; never fails.
  bool Accept(std::string_view text);
  void SkipSpaces();

  // `text` must come next.
  void Literal(std::string_view text);
  // `text` must come somewhere; the scanner stands behind its first occurrence.
  void SkipPast(std::string_view text);
  // A number of the range, decimal with an optional sign.
  int64_t Integer(int64_t lowest, int64_t highest);
  // At least one digit, at most 16, of either case, with or without "0x".
  uint64_t Hex();
  // At least one character, up to the first of `stops` or the end.
  std::string_view Until(std::string_view stops);
  // Fails unless `holds`: for a value that reads well and means nothing.
  void Require(bool holds, std::string_view what);

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  // What was missing, for a message: `" - Init "` or `a number after "rank "`.
  const std::string& expected() const { return expected_; }

 private:
  void Fail(std::string_view what);
  void FailAfterLast(std::string_view what);

  std::string_view rest_;
  std::string_view last_literal_;
  std::string expected_;
  bool ok_ = true;
};

}  // namespace rocescope
