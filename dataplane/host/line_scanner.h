// SPDX-License-Identifier: BSD-3-Clause
// Scans one line of tool output from left to right. The first mismatch stops the scanner: all later
// values are 0 or empty, and `expected` describes what was missing. A format can thus be written as
// it is printed and checked once at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

class LineScanner {
 public:
  explicit LineScanner(std::string_view text) : rest_(text) {}

  // Consumes `text` if it comes next; never fails.
  bool Accept(std::string_view text);
  void SkipSpaces();

  // Requires `text` next.
  void Literal(std::string_view text);
  // Requires `text` anywhere ahead and skips past its first occurrence.
  void SkipPast(std::string_view text);
  // Requires a decimal number in the range, with an optional sign.
  int64_t Integer(int64_t lowest, int64_t highest);
  // Requires 1 to 16 hexadecimal digits of either case, with or without "0x".
  uint64_t Hex();
  // Requires at least one character; reads up to the first of `stops` or the end.
  std::string_view Until(std::string_view stops);
  // Fails unless `holds`; for values with valid syntax that are out of range.
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
