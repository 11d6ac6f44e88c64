// SPDX-License-Identifier: BSD-3-Clause
// Text of unknown origin (file names, logs, the command line's own words) as it may be printed: it
// must not steer a terminal, begin a line of its own, or make the output anything but UTF-8.
// Everything that rocescope prints goes through here: reports, messages, JSON strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

enum class CharacterKind : uint8_t {
  kPlain,
  // U+0000 to U+001F, U+007F to U+009F (C1: what 8-bit terminals take for ESC sequences), and what
  // turns the order of what stands beside it (Bidi_Control of Unicode's PropList: U+202E and
  // others).
  kControl,
  kInvalid,  // an octet that begins no well-formed UTF-8 sequence
};

struct Character {
  CharacterKind kind = CharacterKind::kPlain;
  uint8_t length = 1;    // octets
  uint16_t control = 0;  // the control's code point
};

inline bool IsPlainAscii(char c) { return c >= 0x20 && c < 0x7f; }

// What `text`, which is not empty, begins with.
Character FirstCharacter(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

// Controls become `\n`, `\t`, `\r`, `\x1b` or `\u202e`, invalid octets U+FFFD; the rest stays. So
// the result is one line of UTF-8, and a second pass changes nothing.
std::string Visible(std::string_view text);

// The same, but line ends stay: for text that is already laid out.
std::string VisibleLines(std::string_view text);

// A message, in which what stands between quotes, which is input, has 120 octets at most:
// "aaaa..." and how many octets there were.
std::string WithShortQuotes(std::string_view text);

}  // namespace rocescope
