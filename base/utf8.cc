// SPDX-License-Identifier: BSD-3-Clause
#include "base/utf8.h"

#include <cstring>

namespace rocescope {

uint8_t Utf8Length(std::string_view text) {
  const auto octet = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = octet(0);
  uint8_t length = 0;
  // Bounds of the second byte, which exclude overlong forms, surrogates and values above U+10FFFF.
  uint8_t low = 0x80;
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

std::string_view Utf8Front(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  // Bytes 10xxxxxx continue a sequence.
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

bool IsUtf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  while (!text.empty()) {
    // Most text is ASCII: eight bytes at a time.
    if (uint64_t word = 0; text.size() >= sizeof word) {
      std::memcpy(&word, text.data(), sizeof word);
      if ((word & kHighBits) == 0) {
        text.remove_prefix(sizeof word);
        continue;
      }
    }
    const uint8_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const uint8_t length = Utf8Length(text);
    valid += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace rocescope
