// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/visible_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rocescope {
namespace {

// The length of the well-formed UTF-8 sequence that `text` begins with (Unicode 15, table 3-7), or
// 0 if it begins with none.
uint8_t Utf8Length(std::string_view text) {
  const auto octet = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = octet(0);
  uint8_t length = 0;
  uint8_t low = 0x80;  // bounds of the second octet: no overlong forms, surrogates or > U+10FFFF
  uint8_t high = 0xbf;
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  }
  if (length == 0 || text.size() < length) return 0;
  if (octet(1) < low || octet(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((octet(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void AppendEscape(uint8_t control, std::string& out) {
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
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", control);
  }
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
  if (lead == 0xc2 && static_cast<uint8_t>(text[1]) < 0xa0) {
    return {.kind = CharacterKind::kControl, .length = 2, .control = static_cast<uint8_t>(text[1])};
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
      out += fmt::format("...\" ({} octets)", length);
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace rocescope
