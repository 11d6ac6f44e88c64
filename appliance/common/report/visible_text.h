// SPDX-License-Identifier: BSD-3-Clause
// Escapes text of unknown origin (file names, logs, command line arguments) for output: it must not
// control a terminal, start a new line, or produce invalid UTF-8. All output uses these functions:
// reports, messages, JSON strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

enum class CharacterKind : uint8_t {
  kPlain,
  // U+0000 to U+001F, U+007F to U+009F (8-bit terminals interpret C1 as escape sequences), and the
  // characters that change the text direction (Bidi_Control in Unicode's PropList, such as U+202E).
  kControl,
  kInvalid,  // a byte that does not start a well-formed UTF-8 sequence
};

struct Character {
  CharacterKind kind = CharacterKind::kPlain;
  uint8_t length = 1;    // bytes
  uint16_t control = 0;  // code point of the control character
};

inline bool IsPlainAscii(char c) { return c >= 0x20 && c < 0x7f; }

// Classifies the first character of `text`, which must not be empty.
Character FirstCharacter(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

// Replaces control characters by `\n`, `\t`, `\r`, `\x1b` or `\u202e`, and invalid bytes by U+FFFD.
// The result is one line of UTF-8; a second call changes nothing.
std::string Visible(std::string_view text);

// Like Visible, but keeps line feeds, for text that is already laid out.
std::string VisibleLines(std::string_view text);

// Shortens quoted input in a message to 120 bytes: "aaaa..." and the original length.
std::string WithShortQuotes(std::string_view text);

}  // namespace rocescope
