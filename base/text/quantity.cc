// SPDX-License-Identifier: BSD-3-Clause
#include "base/text/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <span>

namespace rocescope::topology {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr std::array kSpeedUnits = {Unit{"T", 1'000'000'000'000}, Unit{"G", 1'000'000'000},
                                    Unit{"M", 1'000'000}, Unit{"K", 1'000}, Unit{"", 1}};
constexpr std::array kDelayUnits = {Unit{"ms", 1'000'000}, Unit{"us", 1'000}, Unit{"ns", 1},
                                    Unit{"s", 1'000'000'000}};
constexpr uint64_t kMaxBitsPerSecond = 100'000'000'000'000;
constexpr uint64_t kMaxNanoseconds = 1'000'000'000;

// Parses digits with an optional fraction. Returns the value times `factor` if the result is whole
// and at most `most`.
std::optional<uint64_t> Scaled(std::string_view digits, uint64_t factor, uint64_t most) {
  const size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  const std::string_view part = point == std::string_view::npos ? "" : digits.substr(point + 1);
  if (whole.empty() || (point != std::string_view::npos && part.empty())) return std::nullopt;
  uint64_t value = 0;
  for (const char c : whole) {
    if (c < '0' || c > '9' || value > most) return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  if (value > most / factor) return std::nullopt;
  value *= factor;
  for (const char c : part) {
    if (c < '0' || c > '9') return std::nullopt;
    if (factor < 10 && c != '0') return std::nullopt;  // a fraction of the smallest unit
    factor /= 10;
    value += factor * static_cast<uint64_t>(c - '0');
  }
  return value <= most ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> ParseWith(std::string_view text, std::span<const Unit> units,
                                  uint64_t most) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    return Scaled(text.substr(0, text.size() - unit.name.size()), unit.factor, most);
  }
  return std::nullopt;
}

std::string FormatWith(uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return fmt::format("{}", value);
}

bool IsHex(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

Result<uint64_t> ParseSpeed(std::string_view text) {
  const auto speed = ParseWith(text, kSpeedUnits, kMaxBitsPerSecond);
  if (speed && *speed > 0) return *speed;
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" is not a speed; expected bit/s such as 400G, 1.6T or "
                               "100000000000, up to 100T",
                               text));
}

std::string FormatSpeed(uint64_t bits_per_second) {
  return FormatWith(bits_per_second, kSpeedUnits);
}

Result<Duration> ParseDelay(std::string_view text) {
  if (text == "0") return Duration::zero();
  if (const auto delay = ParseWith(text, kDelayUnits, kMaxNanoseconds)) {
    return Duration(static_cast<int64_t>(*delay));
  }
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("\"{}\" is not a delay; expected a time such as 500ns, 1.5us or 2ms, up to 1s",
                  text));
}

std::string FormatDelay(Duration delay) {
  if (delay == Duration::zero()) return "0";
  return FormatWith(static_cast<uint64_t>(delay.count()), kDelayUnits);
}

Result<std::string> ParsePciAddress(std::string_view text) {
  // [domain:]bus:device.function
  const size_t point = text.rfind('.');
  const size_t colon = text.rfind(':', point);
  const size_t first = colon == std::string_view::npos || colon == 0 ? std::string_view::npos
                                                                     : text.rfind(':', colon - 1);
  const auto bad = [text] {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not a PCI address; expected one such as 0000:17:00.0 "
                                 "or 17:00.0",
                                 text));
  };
  if (point == std::string_view::npos || colon == std::string_view::npos || colon > point) {
    return bad();
  }
  const bool has_domain = first != std::string_view::npos;
  const std::string_view domain = has_domain ? text.substr(0, first) : "0";
  const std::string_view bus =
      has_domain ? text.substr(first + 1, colon - first - 1) : text.substr(0, colon);
  const std::string_view device = text.substr(colon + 1, point - colon - 1);
  const std::string_view function = text.substr(point + 1);
  if (!IsHex(domain) || domain.size() > 8 || !IsHex(bus) || bus.size() > 2 || !IsHex(device) ||
      device.size() > 2 || function.size() != 1 || function[0] < '0' || function[0] > '7') {
    return bad();
  }
  const auto number = [](std::string_view hex) {
    uint32_t value = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    return value;
  };
  if (number(device) > 0x1f) return bad();
  return fmt::format("{:04x}:{:02x}:{:02x}.{}", number(domain), number(bus), number(device),
                     function);
}

}  // namespace rocescope::topology
