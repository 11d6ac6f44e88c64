// SPDX-License-Identifier: BSD-3-Clause
// The argument of --eal: words that are split and quoted again split into the same words.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/command/shell_words.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto words = SplitWords(text);
  if (!words) return 0;
  std::string quoted;
  for (const std::string& word : *words) {
    quoted += '\'';
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    quoted += "' ";
  }
  const auto again = SplitWords(quoted);
  if (!again || *again != *words) std::abort();
  return 0;
}
