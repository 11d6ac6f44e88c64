// SPDX-License-Identifier: BSD-3-Clause
// Ranges of IPv4 and IPv6 addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/result.h"

namespace rocescope {

struct IpPrefix {
  IpAddress address;
  uint8_t bits = 128;  // number of leading bits of the 16-byte form that count

  bool Contains(const IpAddress& other) const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) = default;
};

// Parses "10.0.0.0/16", "2001:db8::/32" or a single address. The error quotes the text. Bits behind
// the prefix are ignored, as in `ip route`.
Result<IpPrefix> ParseIpPrefix(std::string_view text);
std::string ToString(const IpPrefix& prefix);

}  // namespace rocescope
