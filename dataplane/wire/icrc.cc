// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/icrc.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "dataplane/wire/ip.h"

namespace rocescope::wire {
namespace {

constexpr std::array<uint8_t, 8> kOnes = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// Computes the CRC over a packet from front to end. Each step adds bytes either unchanged or
// replaced by ones.
class Sum {
 public:
  // RoCE has no Local Route Header; eight bytes of ones replace it.
  explicit Sum(std::span<const uint8_t> packet) : rest_(packet) { Add(kOnes); }

  uint8_t Peek(size_t offset) const { return offset < rest_.size() ? rest_[offset] : uint8_t{0}; }
  size_t remaining() const { return rest_.size(); }
  uint32_t value() const { return value_; }

  void Plain(size_t count) { Add(Take(count)); }
  void Ones(size_t count) { Add(std::span(kOnes).first(Take(count).size())); }
  // Adds one byte with the bits of `mask` set.
  void Masked(uint8_t mask) {
    const std::array<uint8_t, 1> octet = {static_cast<uint8_t>(Peek(0) | mask)};
    Add(std::span(octet).first(Take(1).size()));
  }

 private:
  std::span<const uint8_t> Take(size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  void Add(std::span<const uint8_t> bytes) {
    value_ = static_cast<uint32_t>(crc32_z(value_, bytes.data(), bytes.size()));
  }

  std::span<const uint8_t> rest_;
  uint32_t value_ = 0;
};

void SumUdp(Sum& sum) {
  sum.Plain(6);  // ports, length
  sum.Ones(2);   // checksum
}

void SumIpv4(Sum& sum) {
  const size_t header_size = size_t{4} * (sum.Peek(0) & 0xf);
  sum.Plain(1);                                              // version, header length
  sum.Ones(1);                                               // type of service
  sum.Plain(6);                                              // length, identification, fragment
  sum.Ones(1);                                               // time to live
  sum.Plain(1);                                              // protocol
  sum.Ones(2);                                               // checksum
  sum.Plain(std::max(header_size, Ipv4Header::kSize) - 12);  // addresses and options
  SumUdp(sum);
}

// Extension headers between IPv6 and UDP that the decoder supports. Annex A17 does not mention them
// and defines no variable fields in them, so they are added unchanged.
uint8_t SumIpv6Extensions(Sum& sum, uint8_t next_header) {
  while (sum.remaining() >= 8) {
    size_t size = 8;
    switch (next_header) {
      case kIpProtocolHopByHop:
      case kIpProtocolRouting:
      case kIpProtocolDestinationOptions:
        size += size_t{8} * sum.Peek(1);
        break;
      case kIpProtocolAuthentication:  // RFC 4302: length in words minus 2
        size += size_t{4} * sum.Peek(1);
        break;
      case kIpProtocolFragment:
        break;
      default:
        return next_header;
    }
    next_header = sum.Peek(0);
    sum.Plain(size);
  }
  return next_header;
}

// IPv6, and the GRH of RoCEv1, which has the same layout and variable fields.
void SumIpv6(Sum& sum) {
  uint8_t next_header = sum.Peek(6);
  sum.Masked(0x0f);  // version unchanged, traffic class as ones
  sum.Ones(3);       // traffic class, flow label
  sum.Plain(3);      // payload length, next header
  sum.Ones(1);       // hop limit
  sum.Plain(32);     // addresses
  next_header = SumIpv6Extensions(sum, next_header);
  if (next_header == kIpProtocolUdp) SumUdp(sum);
}

}  // namespace

uint32_t ComputeIcrc(std::span<const uint8_t> network_packet) {
  Sum sum(network_packet);
  if (sum.Peek(0) >> 4 == 4) {
    SumIpv4(sum);
  } else {
    SumIpv6(sum);
  }
  sum.Plain(4);  // BTH: opcode, flags, partition key
  sum.Ones(1);   // FECN, BECN, reserved
  sum.Plain(sum.remaining());
  return sum.value();
}

}  // namespace rocescope::wire
