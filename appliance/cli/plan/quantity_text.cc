// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "appliance/cli/plan/plan_report.h"

namespace rocescope::plan {
namespace {

// Three digits and the prefix of the unit: "5.12 G".
std::string Prefixed(double value) {
  constexpr std::array<const char*, 5> kPrefixes = {"", "k", "M", "G", "T"};
  size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, kPrefixes[prefix]);
}

}  // namespace

std::string BitRate(double bits_per_second) { return Prefixed(bits_per_second) + "bit/s"; }

std::string PacketRate(double per_second) { return Prefixed(per_second) + "/s"; }

std::string PerCent(double share) {
  double tenths = std::round(1000 * share);
  if (share < 1) tenths = std::min(tenths, 999.0);
  if (share > 0) tenths = std::max(tenths, 1.0);
  return std::fmod(tenths, 10) == 0 ? fmt::format("{:.0f} %", tenths / 10)
                                    : fmt::format("{:.1f} %", tenths / 10);
}

}  // namespace rocescope::plan
