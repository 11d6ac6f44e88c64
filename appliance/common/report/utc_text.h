// SPDX-License-Identifier: BSD-3-Clause
// Formats nanoseconds since the epoch as UTC times and dates.
#pragma once

#include <cstdint>
#include <string>

namespace rocescope {

enum class TimeDigits : uint8_t { kMilliseconds, kMicroseconds };

// Returns "12:00:04.000" or "12:00:04.000250".
std::string UtcTime(int64_t ns, TimeDigits digits = TimeDigits::kMilliseconds);

// Returns "2024-05-01 12:00:04.000".
std::string UtcDayAndTime(int64_t ns, TimeDigits digits = TimeDigits::kMilliseconds);

bool IsSameUtcDay(int64_t a_ns, int64_t b_ns);

}  // namespace rocescope
