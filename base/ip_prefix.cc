// SPDX-License-Identifier: BSD-3-Clause
#include "base/ip_prefix.h"

#include <charconv>

namespace rocescope {
namespace {

constexpr uint8_t kAllBits = 128;
constexpr uint8_t kV4Bits = 32;

uint64_t FirstBits(uint64_t value, unsigned count) {
  return count == 0 ? 0 : value & ~uint64_t{0} << (64 - count);
}

// Clears the bits behind the prefix.
IpAddress Masked(const IpAddress& address, uint8_t bits) {
  return bits >= 64 ? IpAddress{.high = address.high, .low = FirstBits(address.low, bits - 64u)}
                    : IpAddress{.high = FirstBits(address.high, bits), .low = 0};
}

}  // namespace

bool IpPrefix::Contains(const IpAddress& other) const {
  // The IPv4 addresses are within ::/0 only by their form.
  if (other.IsV4() && bits < kAllBits - kV4Bits) return false;
  return Masked(other, bits) == Masked(address, bits);
}

Result<IpPrefix> ParseIpPrefix(std::string_view text) {
  const size_t slash = text.find('/');
  const Result<IpAddress> address = ParseIpAddress(text.substr(0, slash));
  if (!address) return tl::unexpected(address.error());
  if (slash == std::string_view::npos) return IpPrefix{.address = *address};
  const std::string_view number = text.substr(slash + 1);
  const uint8_t most = address->IsV4() ? kV4Bits : kAllBits;
  uint8_t bits = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), bits);
  if (number.empty() || read.ec != std::errc() || read.ptr != number.data() + number.size() ||
      bits > most) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "invalid prefix length in \"" + std::string(text) +
                         "\": expected a number from 0 to " + std::to_string(most));
  }
  bits = static_cast<uint8_t>(bits + kAllBits - most);
  return IpPrefix{.address = Masked(*address, bits), .bits = bits};
}

std::string ToString(const IpPrefix& prefix) {
  if (prefix.bits == kAllBits) return ToString(prefix.address);
  const bool is_v4 = prefix.address.IsV4() && prefix.bits >= kAllBits - kV4Bits;
  return ToString(prefix.address) + "/" +
         std::to_string(prefix.bits - (is_v4 ? kAllBits - kV4Bits : 0));
}

}  // namespace rocescope
