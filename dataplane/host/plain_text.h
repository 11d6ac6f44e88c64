// SPDX-License-Identifier: BSD-3-Clause
// Logs that went through a terminal or a launcher on their way into a file.
#pragma once

#include <string>
#include <string_view>

namespace rocescope {

// Whether PlainText would change anything.
bool HasControlSequences(std::string_view text);

// Without escape sequences (ECMA-48: colours, titles) and NULs. Lines stay lines: a sequence that
// the end of its line cuts ends there.
std::string PlainText(std::string_view text);

}  // namespace rocescope
