// SPDX-License-Identifier: BSD-3-Clause
// Cleans logs that were captured from a terminal or a launcher.
#pragma once

#include <string>
#include <string_view>

namespace rocescope {

// Whether PlainText would change the text.
bool HasControlSequences(std::string_view text);

// Removes escape sequences (ECMA-48: colours, titles) and NUL characters. Lines are preserved: a
// sequence truncated by the end of its line ends there.
std::string PlainText(std::string_view text);

}  // namespace rocescope
