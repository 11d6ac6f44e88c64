// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/byte_size.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace rocescope {
namespace {

constexpr std::string_view kByteUnits = "KMGT";

}  // namespace

Result<uint64_t> ParseBytes(std::string_view text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const size_t power = unit.size() == 1 ? kByteUnits.find(unit[0]) : std::string_view::npos;
  const bool known = unit.empty() || power != std::string_view::npos;
  const size_t shift = unit.empty() ? 0 : 10 * (power + 1);
  if (error != std::errc{} || !known || count == 0 ||
      count > std::numeric_limits<uint64_t>::max() >> shift) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is not a size in bytes above 0 such as 64M (suffixes: K, M, G, T, "
                    "powers of 1024)",
                    text));
  }
  return count << shift;
}

std::string FormatBytes(uint64_t bytes) {
  size_t power = 0;
  while (power < kByteUnits.size() && bytes > 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return power == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, kByteUnits[power - 1]);
}

}  // namespace rocescope
