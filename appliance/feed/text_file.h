// SPDX-License-Identifier: BSD-3-Clause
// A file's whole text.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rocescope {

// The error names the path. A file of more than `most` octets is refused before it is read; a pipe
// as soon as it has given more.
Result<std::string> ReadTextFile(const std::string& path, uintmax_t most);

// The same of standard input where `path` is "-".
Result<std::string> ReadTextFileOrStdin(const std::string& path, uintmax_t most);

}  // namespace rocescope
