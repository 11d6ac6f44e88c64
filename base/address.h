// SPDX-License-Identifier: BSD-3-Clause
// IPv4 and IPv6 addresses in one 16-byte value. IPv4 addresses are stored as ::ffff:a.b.c.d, as in
// RoCE GIDs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

struct IpAddress {
  uint64_t high = 0;  // the first eight bytes, most significant first
  uint64_t low = 0;   // the last eight bytes

  static constexpr IpAddress FromV4(uint32_t address) {
    return {.high = 0, .low = 0xffff00000000ull | address};
  }
  constexpr bool IsV4() const { return high == 0 && (low >> 32) == 0xffff; }
  constexpr uint32_t V4() const { return static_cast<uint32_t>(low); }
  constexpr bool IsUnspecified() const {
    return high == 0 && (low == 0 || low == 0xffff00000000ull);
  }

  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// Returns "172.30.0.12" for IPv4, or RFC 5952 text for IPv6.
std::string ToString(const IpAddress& address);

// Parses an IPv4 or IPv6 address. The error message quotes the text.
Result<IpAddress> ParseIpAddress(std::string_view text);

}  // namespace rocescope
