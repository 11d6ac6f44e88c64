// SPDX-License-Identifier: BSD-3-Clause
// A length of time as a command line writes it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

// A whole number and its unit, ns, us, ms or s ("100ms"); greater than zero.
Result<Duration> ParseDuration(std::string_view text);

}  // namespace rocescope
