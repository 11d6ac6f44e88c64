// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace rocescope {
namespace {

struct Unit {
  std::string_view name;
  int64_t nanoseconds;
};
constexpr std::array<Unit, 7> kUnits = {{{"d", 86'400'000'000'000},
                                         {"h", 3'600'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"s", 1'000'000'000},
                                         {"ms", 1'000'000},
                                         {"us", 1'000},
                                         {"ns", 1}}};

int64_t NanosecondsOf(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.nanoseconds;
  }
  return 0;
}

}  // namespace

Result<Duration> ParseDuration(std::string_view text) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const int64_t unit = NanosecondsOf(text.substr(static_cast<size_t>(end - text.data())));
  if (error != std::errc{} || count <= 0 || unit == 0 ||
      count > std::numeric_limits<int64_t>::max() / unit) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "\"{}\" is not a duration above 0 such as 100ms (units: ns, us, ms, s, m, h, d)",
            text));
  }
  return Duration(count * unit);
}

std::string FormatDuration(Duration duration) {
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.nanoseconds == 0) {
      return fmt::format("{}{}", duration.count() / unit.nanoseconds, unit.name);
    }
  }
  return {};  // unreachable: every duration is a whole number of nanoseconds
}

}  // namespace rocescope
