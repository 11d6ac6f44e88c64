// SPDX-License-Identifier: BSD-3-Clause
// One argument that holds several words, as --eal does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rocescope {

// Splits at blanks as a POSIX shell does: 'single quotes' keep all, "double quotes" all but
// backslashes before " and \, a backslash elsewhere keeps the next character. Nothing is expanded.
// The error names the quote that is not closed.
Result<std::vector<std::string>> SplitWords(std::string_view text);

}  // namespace rocescope
