// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/duration.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <limits>

namespace rocescope {
namespace {

int64_t NanosecondsOf(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
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
        fmt::format("\"{}\" is not a duration such as 100ms (units: ns, us, ms, s)", text));
  }
  return Duration(count * unit);
}

}  // namespace rocescope
