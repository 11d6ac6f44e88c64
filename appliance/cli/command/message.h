// SPDX-License-Identifier: BSD-3-Clause
// Messages to people, on standard error.
#pragma once

#include <string_view>

namespace rocescope {

// "rocescope: TEXT" as a line of its own, nothing in it able to steer a terminal. Best effort:
// where standard error is closed or full, the message is lost and the work goes on.
void Message(std::string_view text);

// The same for what may be several lines, as an error about a file: each is a message.
void MessageLines(std::string_view text);

// Call first in main: a descriptor 0, 1 or 2 that the caller closed must not become a capture's.
// What stands in for it fails as the closed one would.
void HoldStandardStreams();

}  // namespace rocescope
