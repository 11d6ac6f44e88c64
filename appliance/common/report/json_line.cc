// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/json_line.h"

#include <algorithm>
#include <iterator>

#include "appliance/common/report/visible_text.h"

namespace rocescope {
namespace {

bool StandsForItself(char c) { return IsPlainAscii(c) && c != '"' && c != '\\'; }

template <typename Buffer>
void AppendQuoted(Buffer& out, std::string_view text) {
  const auto append = [&](std::string_view s) { out.append(s.data(), s.data() + s.size()); };
  out.push_back('"');
  while (true) {
    const auto run = std::find_if_not(text.begin(), text.end(), StandsForItself);
    append({text.begin(), run});
    text.remove_prefix(static_cast<size_t>(run - text.begin()));
    if (text.empty()) break;
    const char c = text.front();
    const Character character = FirstCharacter(text);
    if (character.kind == CharacterKind::kInvalid) {
      append("\\ufffd");
    } else if (character.kind == CharacterKind::kControl) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", character.control);
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else {
      append(text.substr(0, character.length));
    }
    text.remove_prefix(character.length);
  }
  out.push_back('"');
}

}  // namespace

void AppendJsonString(fmt::memory_buffer& out, std::string_view text) { AppendQuoted(out, text); }
void AppendJsonString(std::string& out, std::string_view text) { AppendQuoted(out, text); }

}  // namespace rocescope
