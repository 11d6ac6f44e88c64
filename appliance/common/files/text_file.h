// SPDX-License-Identifier: BSD-3-Clause
// A file's whole text.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rocescope {

// Pipes and devices are read where a person names them on the command line, as in
// `--topology <(generate)`. What runs for long reads none: they may never give or never end.
enum class Pipes : uint8_t { kRefused, kRead };

// The error names the path. A file of more than `most` octets is refused before it is read; a pipe
// as soon as it has given more. Where pipes are refused it never waits.
Result<std::string> ReadTextFile(const std::string& path, uintmax_t most,
                                 Pipes pipes = Pipes::kRefused);

// Standard input where `path` is "-"; else with pipes.
Result<std::string> ReadTextFileOrStdin(const std::string& path, uintmax_t most);

}  // namespace rocescope
