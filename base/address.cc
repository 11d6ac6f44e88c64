// SPDX-License-Identifier: BSD-3-Clause
#include "base/address.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>

namespace rocescope {
namespace {

using Bytes = std::array<uint8_t, 16>;

Bytes ToBytes(const IpAddress& address) {
  Bytes bytes{};
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(address.high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<uint8_t>(address.low >> (56 - 8 * i));
  }
  return bytes;
}

IpAddress FromBytes(const Bytes& bytes) {
  IpAddress address;
  for (int i = 0; i < 8; ++i) {
    address.high = address.high << 8 | bytes[i];
    address.low = address.low << 8 | bytes[8 + i];
  }
  return address;
}

}  // namespace

std::string ToString(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (!address.IsV4()) {
    inet_ntop(AF_INET6, ToBytes(address).data(), text, sizeof text);
    return text;
  }
  // A report has tens of thousands of them, and inet_ntop goes through sprintf.
  char* end = text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    end = std::to_chars(end, text + sizeof text, address.V4() >> shift & 0xff).ptr;
    if (shift > 0) *end++ = '.';
  }
  return {text, end};
}

Result<IpAddress> ParseIpAddress(std::string_view text) {
  const std::string copy(text);  // inet_pton wants a terminator
  const bool whole = text.find('\0') == std::string_view::npos;
  uint8_t v4[4];
  if (whole && inet_pton(AF_INET, copy.c_str(), v4) == 1) {
    return IpAddress::FromV4(uint32_t{v4[0]} << 24 | uint32_t{v4[1]} << 16 | uint32_t{v4[2]} << 8 |
                             v4[3]);
  }
  Bytes bytes{};
  if (whole && inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return FromBytes(bytes);
  return MakeError(ErrorCode::kInvalidArgument, "\"" + copy + "\" is not an IPv4 or IPv6 address");
}

}  // namespace rocescope
