// SPDX-License-Identifier: BSD-3-Clause
// Formats counts for messages and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocescope {

// Formats an integer with thousands separators: "98,308".
std::string WithThousands(uint64_t value);

// Formats a large number, rounded to `digits` significant digits: "8,740", "100,000,000", "6.9".
std::string Rounded(double value, int digits);

// Formats a count with its noun: "1 edge", "2 edges", "40 switches", "0 queries". If `noun` has
// several words, the last one takes the plural.
std::string Counted(uint64_t count, std::string_view noun);

}  // namespace rocescope
