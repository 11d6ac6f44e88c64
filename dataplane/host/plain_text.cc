// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/plain_text.h"

#include <algorithm>

namespace rocescope {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';

// Counts the next bytes of `text` between `low` and `high`, up to the end of the line.
size_t CountWithin(std::string_view text, size_t from, char low, char high) {
  size_t count = 0;
  while (from + count < text.size() && text[from + count] >= low && text[from + count] <= high) {
    ++count;
  }
  return count;
}

// ESC ], then any text, then BEL or ESC \.
size_t OperatingSystemCommandLength(std::string_view text) {
  size_t at = 2;
  while (at < text.size() && text[at] != '\n' && text[at] != kBell && text[at] != kEscape) ++at;
  if (at == text.size() || text[at] == '\n') return at;
  if (text[at] == kBell) return at + 1;
  return text.substr(at).starts_with("\x1b\\") ? at + 2 : at;
}

// Returns the length of the sequence at the start of `text`, whose first character is ESC.
size_t SequenceLength(std::string_view text) {
  if (text.size() < 2 || text[1] == '\n' || text[1] == kEscape) return 1;
  if (text[1] == ']') return OperatingSystemCommandLength(text);
  size_t at = 1;
  if (text[1] == '[') {
    at = 2 + CountWithin(text, 2, '\x30', '\x3f');  // parameters
  }
  at += CountWithin(text, at, '\x20', '\x2f');                          // intermediates
  return at + CountWithin(text.substr(0, at + 1), at, '\x30', '\x7e');  // one final character
}

}  // namespace

bool HasControlSequences(std::string_view text) {
  return text.find(kEscape) != std::string_view::npos || text.find('\0') != std::string_view::npos;
}

std::string PlainText(std::string_view text) {
  constexpr std::string_view kStops("\x1b\0", 2);
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const size_t stop = std::min(text.find_first_of(kStops), text.size());
    plain += text.substr(0, stop);
    text.remove_prefix(stop);
    if (text.empty()) break;
    text.remove_prefix(text[0] == kEscape ? SequenceLength(text) : 1);
  }
  return plain;
}

}  // namespace rocescope
