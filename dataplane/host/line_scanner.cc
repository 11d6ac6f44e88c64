// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/line_scanner.h"

#include <fmt/format.h>

#include <charconv>

namespace rocescope {

void LineScanner::Fail(std::string_view what) {
  expected_ = what;
  ok_ = false;
  rest_ = {};
}

void LineScanner::FailAfterLast(std::string_view what) {
  Fail(last_literal_.empty() ? std::string(what)
                             : fmt::format("{} after \"{}\"", what, last_literal_));
}

bool LineScanner::Accept(std::string_view text) {
  if (!rest_.starts_with(text)) return false;
  rest_.remove_prefix(text.size());
  last_literal_ = text;
  return true;
}

void LineScanner::SkipSpaces() {
  while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
}

void LineScanner::Literal(std::string_view text) {
  if (ok_ && !Accept(text)) Fail(fmt::format("\"{}\"", text));
}

void LineScanner::SkipPast(std::string_view text) {
  if (!ok_) return;
  const size_t at = rest_.find(text);
  if (at == std::string_view::npos) return Fail(fmt::format("\"{}\"", text));
  rest_.remove_prefix(at + text.size());
  last_literal_ = text;
}

int64_t LineScanner::Integer(int64_t lowest, int64_t highest) {
  if (!ok_) return 0;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (error != std::errc{} || value < lowest || value > highest) {
    FailAfterLast(fmt::format("a number from {} to {}", lowest, highest));
    return 0;
  }
  rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
  return value;
}

uint64_t LineScanner::Hex() {
  if (!ok_) return 0;
  if (rest_.starts_with("0x")) rest_.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, 16);
  if (error != std::errc{}) {
    FailAfterLast("a hexadecimal number");
    return 0;
  }
  rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
  return value;
}

std::string_view LineScanner::Until(std::string_view stops) {
  if (!ok_) return {};
  const std::string_view word = rest_.substr(0, rest_.find_first_of(stops));
  if (word.empty()) {
    FailAfterLast("a word");
    return {};
  }
  rest_.remove_prefix(word.size());
  return word;
}

void LineScanner::Require(bool holds, std::string_view what) {
  if (ok_ && !holds) Fail(what);
}

}  // namespace rocescope
