// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/shell_words.h"

#include <fmt/format.h>

namespace rocescope {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Appends the quoted part that starts after `at` to `word`. Returns its end, or npos if it is not
// terminated.
size_t TakeQuoted(std::string_view text, size_t at, std::string& word) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == quote) return at;
    const bool escapes = quote == '"' && text[at] == '\\' && at + 1 < text.size() &&
                         (text[at + 1] == '"' || text[at + 1] == '\\');
    if (escapes) ++at;
    word += text[at];
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (IsBlank(c)) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    in_word = true;
    if (c == '\'' || c == '"') {
      const size_t end = TakeQuoted(text, at, word);
      if (end == std::string_view::npos) {
        return MakeError(
            ErrorCode::kInvalidArgument,
            fmt::format("unterminated quote {} at character {} of \"{}\"", c, at + 1, text));
      }
      at = end;
    } else if (c == '\\' && at + 1 < text.size()) {
      word += text[++at];
    } else {
      word += c;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace rocescope
