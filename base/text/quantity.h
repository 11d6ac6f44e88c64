// SPDX-License-Identifier: BSD-3-Clause
// Parses speeds, delays and PCI addresses. Errors quote the text and state what was expected,
// without a file position.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope::topology {

// "400G", "1.6T", "2500M", "64K" (powers of ten), or plain bit/s; above zero.
Result<uint64_t> ParseSpeed(std::string_view text);
std::string FormatSpeed(uint64_t bits_per_second);

// "500ns", "1.5us", "2ms", "1s", "0": a whole number of nanoseconds, at most one second.
Result<Duration> ParseDelay(std::string_view text);
std::string FormatDelay(Duration delay);

// Returns the form "0000:17:00.0" in lower case. Also accepts "17:00.0" and nvidia-smi's
// "00000000:17:00.0".
Result<std::string> ParsePciAddress(std::string_view text);

}  // namespace rocescope::topology
