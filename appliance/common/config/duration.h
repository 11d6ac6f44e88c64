// SPDX-License-Identifier: BSD-3-Clause
// A length of time as a command line or a configuration writes it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

// A whole number and its unit, ns, us, ms, s, m, h or d ("100ms"); greater than zero.
Result<Duration> ParseDuration(std::string_view text);

// In the largest unit that makes it a whole number.
std::string FormatDuration(Duration duration);

}  // namespace rocescope
