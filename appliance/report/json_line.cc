// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/json_line.h"

#include <iterator>

namespace rocescope {
namespace {

// The length of the well-formed UTF-8 sequence that `text` begins with (Unicode 15, table 3-7), or
// 0 if it begins with none.
size_t Utf8Length(std::string_view text) {
  const auto octet = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = octet(0);
  size_t length = 0;
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

template <typename Buffer>
void AppendQuoted(Buffer& out, std::string_view text) {
  const auto append = [&](std::string_view s) { out.append(s.data(), s.data() + s.size()); };
  out.push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    const size_t length = Utf8Length(text);
    if (length == 0) {
      append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint8_t>(c));
    } else {
      append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
}

}  // namespace

void AppendJsonString(fmt::memory_buffer& out, std::string_view text) { AppendQuoted(out, text); }
void AppendJsonString(std::string& out, std::string_view text) { AppendQuoted(out, text); }

}  // namespace rocescope
