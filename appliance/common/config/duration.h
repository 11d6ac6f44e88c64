// SPDX-License-Identifier: BSD-3-Clause
// Durations as written on the command line and in configuration files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

// Parses a positive whole number with a unit: ns, us, ms, s, m, h or d ("100ms").
Result<Duration> ParseDuration(std::string_view text);

// Formats it in the largest unit that gives a whole number.
std::string FormatDuration(Duration duration);

}  // namespace rocescope
