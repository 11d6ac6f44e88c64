// SPDX-License-Identifier: BSD-3-Clause
// A number of octets as people write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

// A whole number, greater than zero, maybe with K, M, G or T behind it: powers of 1024, as tools
// for files and memory have them.
Result<uint64_t> ParseBytes(std::string_view text);

// In the largest unit that makes it a whole number.
std::string FormatBytes(uint64_t bytes);

}  // namespace rocescope
