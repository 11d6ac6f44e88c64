// SPDX-License-Identifier: BSD-3-Clause
// Reads complete text files.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rocescope {

// Pipes and devices are read only if the user names them on the command line, as in `--topology
// <(generate)`. Daemons refuse them, because they may block or never end.
enum class Pipes : uint8_t { kRefused, kRead };

// The error names the path. A file of more than `most` bytes is refused before reading, a pipe as
// soon as it exceeds `most`. If pipes are refused, the call never blocks.
Result<std::string> ReadTextFile(const std::string& path, uintmax_t most,
                                 Pipes pipes = Pipes::kRefused);

// Reads standard input if `path` is "-"; otherwise allows pipes.
Result<std::string> ReadTextFileOrStdin(const std::string& path, uintmax_t most);

}  // namespace rocescope
