// SPDX-License-Identifier: BSD-3-Clause
// `rocescope counters`: converts files of counters between their two forms.
#pragma once

#include <cstdint>
#include <string>

namespace rocescope {

enum class CounterForm : uint8_t {
  kLines,    // counters.jsonl
  kColumns,  // counters.columns
};

struct CountersConvertOptions {
  std::string input;   // "-" is standard input
  std::string output;  // "-" is standard output, for lines only
  CounterForm to = CounterForm::kColumns;
};

// Writes the readings of `input` to `output`. Messages go to standard error. Returns an ExitCode:
// kExitDamaged if some readings of the input are invalid or unreadable; all others are written.
int RunCountersConvert(const CountersConvertOptions& options);

}  // namespace rocescope
