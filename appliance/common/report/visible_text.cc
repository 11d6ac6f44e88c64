// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/visible_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace rocescope {
namespace {

void AppendEscape(uint16_t control, std::string& out) {
  switch (control) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      if (control > 0xff) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", control);
      } else {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", control);
      }
  }
}

// Returns the code point of a well-formed sequence of 2 or 3 bytes, or 0.
uint16_t SmallCodePoint(std::string_view text, uint8_t length) {
  const auto bits = [&](size_t i, unsigned mask) { return static_cast<uint8_t>(text[i]) & mask; };
  if (length == 2) return static_cast<uint16_t>(bits(0, 0x1f) << 6 | bits(1, 0x3f));
  if (length != 3) return 0;
  return static_cast<uint16_t>(bits(0, 0x0f) << 12 | bits(1, 0x3f) << 6 | bits(2, 0x3f));
}

bool IsUpperControl(uint16_t code) { return code >= 0x80 && code < 0xa0; }

bool TurnsOrder(uint16_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string MakeVisible(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain = static_cast<size_t>(
        std::find_if_not(text.begin(), text.end(), IsPlainAscii) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character character = FirstCharacter(text);
    if (character.kind == CharacterKind::kInvalid) {
      out += kReplacementCharacter;
    } else if (character.kind == CharacterKind::kPlain ||
               (keeps_lines && character.control == '\n')) {
      out += text.substr(0, character.length);
    } else {
      AppendEscape(character.control, out);
    }
    text.remove_prefix(character.length);
  }
  return out;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text.front());
  if (lead < 0x20 || lead == 0x7f) return {.kind = CharacterKind::kControl, .control = lead};
  const uint8_t length = Utf8Length(text);
  if (length == 0) return {.kind = CharacterKind::kInvalid};
  const uint16_t code = SmallCodePoint(text, length);
  if (IsUpperControl(code) || TurnsOrder(code)) {
    return {.kind = CharacterKind::kControl, .length = length, .control = code};
  }
  return {.length = length};
}

std::string Visible(std::string_view text) { return MakeVisible(text, false); }

std::string VisibleLines(std::string_view text) { return MakeVisible(text, true); }

std::string WithShortQuotes(std::string_view text) {
  constexpr size_t kLongest = 120;
  constexpr size_t kShown = 80;
  std::string out;
  while (true) {
    const size_t open = text.find('"');
    const size_t close = open == std::string_view::npos ? open : text.find('"', open + 1);
    if (close == std::string_view::npos) return out.append(text);
    const size_t length = close - open - 1;
    if (length <= kLongest) {
      out.append(text.substr(0, close + 1));
    } else {
      size_t shown = 0;
      while (shown < kShown) shown += FirstCharacter(text.substr(open + 1 + shown)).length;
      out.append(text.substr(0, open + 1 + shown));
      out += fmt::format("...\" ({} bytes)", length);
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace rocescope
