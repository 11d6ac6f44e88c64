// SPDX-License-Identifier: BSD-3-Clause
// Messages on standard error.
#pragma once

#include <string_view>

namespace rocescope {

// Prints "rocescope: TEXT" ("rocescope-agent: TEXT" in that program) as one line, with control
// characters escaped. Best effort: if standard error is closed or full, the message is lost and the
// program continues.
void Message(std::string_view text);

// Prints each line of `text` as a message.
void MessageLines(std::string_view text);

// Call this first in main: otherwise, a capture could get a descriptor 0, 1 or 2 that the caller
// closed. The placeholder fails as the closed descriptor would.
void HoldStandardStreams();

}  // namespace rocescope
