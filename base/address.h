// SPDX-License-Identifier: BSD-3-Clause
// IPv4 and IPv6 addresses in one 16-byte value; IPv4 is kept as ::ffff:a.b.c.d, as RoCE GIDs do.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

struct IpAddress {
  uint64_t high = 0;  // the first eight octets, most significant first
  uint64_t low = 0;   // the last eight octets

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

// "172.30.0.12", or RFC 5952 text for IPv6.
std::string ToString(const IpAddress& address);

// Reads either form. The error names the text.
Result<IpAddress> ParseIpAddress(std::string_view text);

}  // namespace rocescope
