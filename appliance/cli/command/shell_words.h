// SPDX-License-Identifier: BSD-3-Clause
// Splits one argument into several words, for --eal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

// Splits at blanks like a POSIX shell: 'single quotes' keep everything; in "double quotes", a
// backslash escapes " and \ only; elsewhere, a backslash keeps the next character. Nothing is
// expanded. The error names the unterminated quote.
Result<std::vector<std::string>> SplitWords(std::string_view text);

}  // namespace rocescope
