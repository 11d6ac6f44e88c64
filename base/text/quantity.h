// SPDX-License-Identifier: BSD-3-Clause
// Speeds, delays and PCI addresses as people write them. Errors quote the text and say what was
// expected, without a place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope::topology {

// "400G", "1.6T", "2500M", "64K", or plain bit/s: a power of ten, and more than zero.
Result<uint64_t> ParseSpeed(std::string_view text);
std::string FormatSpeed(uint64_t bits_per_second);

// "500ns", "1.5us", "2ms", "1s", "0": whole nanoseconds, at most a second.
Result<Duration> ParseDelay(std::string_view text);
std::string FormatDelay(Duration delay);

// "0000:17:00.0" out of that, out of "17:00.0" and out of nvidia-smi's "00000000:17:00.0", in lower
// case.
Result<std::string> ParsePciAddress(std::string_view text);

}  // namespace rocescope::topology
