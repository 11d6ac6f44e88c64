// SPDX-License-Identifier: BSD-3-Clause
#include "sim/scenario/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace rocescope::sim {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Returns a number without sign or exponent, and the text after it as `unit`; nullopt if there is
// no number.
std::optional<double> Split(std::string_view text, std::string_view& unit) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  unit = digits == std::string_view::npos ? std::string_view() : text.substr(digits);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value,
                                            std::chars_format::fixed);
  if (number.empty() || error != std::errc() || end != number.data() + number.size()) {
    return std::nullopt;
  }
  return value;
}

template <size_t kCount>
std::optional<double> Scale(std::string_view text, const std::array<Unit, kCount>& units) {
  std::string_view name;
  const std::optional<double> value = Split(text, name);
  if (!value) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name == name) return *value * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  constexpr std::array<Unit, 4> kUnits = {
      {{"", 1}, {"K", 1024}, {"M", 1024.0 * 1024}, {"G", 1024.0 * 1024 * 1024}}};
  const std::optional<double> bytes = Scale(text, kUnits);
  constexpr double kMost = 1e15;
  if (!bytes || *bytes > kMost || *bytes != std::floor(*bytes)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is not a size: expected bytes or a value such as 512K or 64M", text));
  }
  return static_cast<uint64_t>(*bytes);
}

Result<SimTime> ParseSimTime(std::string_view text) {
  constexpr std::array<Unit, 7> kUnits = {{{"ns", 1e3},
                                           {"us", 1e6},
                                           {"ms", 1e9},
                                           {"s", 1e12},
                                           {"min", 60e12},
                                           {"h", 3600e12},
                                           {"d", 86'400e12}}};
  const std::optional<double> time = text == "0" ? std::optional<double>(0) : Scale(text, kUnits);
  constexpr double kMost = 31 * 86'400e12;
  if (!time || *time > kMost) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("\"{}\" is not a time up to 31 d: expected a value such as 10ms, 30s or 2h",
                    text));
  }
  return static_cast<SimTime>(std::llround(*time));
}

}  // namespace rocescope::sim
