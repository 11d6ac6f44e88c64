// SPDX-License-Identifier: BSD-3-Clause
// Sizes in bytes as written on the command line and in configuration files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

// Parses a positive whole number with an optional suffix K, M, G or T (powers of 1024).
Result<uint64_t> ParseBytes(std::string_view text);

// Formats it in the largest unit that gives a whole number.
std::string FormatBytes(uint64_t bytes);

}  // namespace rocescope
