// SPDX-License-Identifier: BSD-3-Clause
// IPv4 (RFC 791), IPv6 (RFC 8200) and UDP (RFC 768).
#pragma once

#include <cstdint>

#include "base/address.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

enum IpProtocol : uint8_t {
  kIpProtocolHopByHop = 0,
  kIpProtocolIpv4 = 4,
  kIpProtocolTcp = 6,
  kIpProtocolUdp = 17,
  kIpProtocolIbGlobalHeader = 27,  // GRH NxtHdr: an IBA transport header follows
  kIpProtocolIpv6 = 41,
  kIpProtocolRouting = 43,
  kIpProtocolFragment = 44,
  kIpProtocolGre = 47,
  kIpProtocolAuthentication = 51,
  kIpProtocolDestinationOptions = 60,
};

enum UdpPort : uint16_t {
  kUdpPortVxlan = 4789,
  kUdpPortRoce = 4791,
  kUdpPortGeneve = 6081,
};

// ECN codepoints (RFC 3168).
enum Ecn : uint8_t { kEcnNotEct = 0, kEcnEct1 = 1, kEcnEct0 = 2, kEcnCe = 3 };

struct Ipv4Header {
  static constexpr size_t kSize = 20;  // without options
  uint8_t header_words = 5;            // IHL: header length in 32-bit words, with options
  uint8_t version = 4;
  uint8_t traffic_class = 0;  // DSCP << 2 | ECN
  uint16_t total_length = 0;
  uint16_t identification = 0;
  uint16_t fragment = 0;  // flags (3 bits), offset in units of 8 bytes (13 bits)
  uint8_t ttl = 0;
  uint8_t protocol = 0;
  uint16_t checksum = 0;
  uint32_t source = 0;
  uint32_t destination = 0;

  constexpr uint16_t FragmentOffset() const { return fragment & 0x1fff; }
};

constexpr void Read(ByteReader& in, Ipv4Header& h) {
  const auto at = in.Take<Ipv4Header::kSize>();
  const uint8_t first = at.U8<0>();
  h.version = first >> 4;
  h.header_words = first & 0xf;
  h.traffic_class = at.U8<1>();
  h.total_length = at.U16<2>();
  h.identification = at.U16<4>();
  h.fragment = at.U16<6>();
  h.ttl = at.U8<8>();
  h.protocol = at.U8<9>();
  h.checksum = at.U16<10>();
  h.source = at.U32<12>();
  h.destination = at.U32<16>();
}
// Writes the checksum as given; Ipv4Checksum computes it.
constexpr void Write(ByteWriter& out, const Ipv4Header& h) {
  out.U8(static_cast<uint8_t>(h.version << 4 | (h.header_words & 0xf)));
  out.U8(h.traffic_class);
  out.U16(h.total_length);
  out.U16(h.identification);
  out.U16(h.fragment);
  out.U8(h.ttl);
  out.U8(h.protocol);
  out.U16(h.checksum);
  out.U32(h.source);
  out.U32(h.destination);
}
static_assert(EncodedSize<Ipv4Header>() == Ipv4Header::kSize);

// Computes the checksum of a header without options (RFC 1071).
constexpr uint16_t Ipv4Checksum(const Ipv4Header& h) {
  uint32_t sum = uint32_t{static_cast<uint8_t>(h.version << 4 | h.header_words)} << 8;
  sum += h.traffic_class;
  sum += h.total_length;
  sum += h.identification;
  sum += h.fragment;
  sum += uint32_t{h.ttl} << 8 | h.protocol;
  sum += (h.source >> 16) + (h.source & 0xffff);
  sum += (h.destination >> 16) + (h.destination & 0xffff);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Also the Global Route Header of RoCEv1 (IBTA vol. 1, 8.3), which has the same layout.
struct Ipv6Header {
  static constexpr size_t kSize = 40;
  uint8_t version = 6;
  uint8_t traffic_class = 0;
  uint32_t flow_label = 0;  // 20 bits
  uint16_t payload_length = 0;
  uint8_t next_header = 0;
  uint8_t hop_limit = 0;
  IpAddress source;
  IpAddress destination;
};

constexpr void Read(ByteReader& in, Ipv6Header& h) {
  const auto at = in.Take<Ipv6Header::kSize>();
  const uint32_t first = at.U32<0>();
  h.version = static_cast<uint8_t>(first >> 28);
  h.traffic_class = static_cast<uint8_t>(first >> 20);
  h.flow_label = first & 0xfffff;
  h.payload_length = at.U16<4>();
  h.next_header = at.U8<6>();
  h.hop_limit = at.U8<7>();
  h.source.high = at.U64<8>();
  h.source.low = at.U64<16>();
  h.destination.high = at.U64<24>();
  h.destination.low = at.U64<32>();
}
constexpr void Write(ByteWriter& out, const Ipv6Header& h) {
  out.U32(uint32_t{h.version} << 28 | uint32_t{h.traffic_class} << 20 | (h.flow_label & 0xfffff));
  out.U16(h.payload_length);
  out.U8(h.next_header);
  out.U8(h.hop_limit);
  out.U64(h.source.high);
  out.U64(h.source.low);
  out.U64(h.destination.high);
  out.U64(h.destination.low);
}
static_assert(EncodedSize<Ipv6Header>() == Ipv6Header::kSize);

// RFC 8200 4.5.
struct Ipv6FragmentHeader {
  static constexpr size_t kSize = 8;
  uint8_t next_header = 0;
  uint16_t offset = 0;  // in units of 8 bytes
  bool more = false;
  uint32_t identification = 0;
};

constexpr void Read(ByteReader& in, Ipv6FragmentHeader& h) {
  const auto at = in.Take<Ipv6FragmentHeader::kSize>();
  h.next_header = at.U8<0>();
  const uint16_t field = at.U16<2>();
  h.offset = field >> 3;
  h.more = (field & 1) != 0;
  h.identification = at.U32<4>();
}
constexpr void Write(ByteWriter& out, const Ipv6FragmentHeader& h) {
  out.U8(h.next_header);
  out.U8(0);
  out.U16(static_cast<uint16_t>(h.offset << 3 | (h.more ? 1 : 0)));
  out.U32(h.identification);
}
static_assert(EncodedSize<Ipv6FragmentHeader>() == Ipv6FragmentHeader::kSize);

struct UdpHeader {
  static constexpr size_t kSize = 8;
  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  uint16_t length = 0;  // including this header
  uint16_t checksum = 0;
};

constexpr void Read(ByteReader& in, UdpHeader& h) {
  const auto at = in.Take<UdpHeader::kSize>();
  h.source_port = at.U16<0>();
  h.destination_port = at.U16<2>();
  h.length = at.U16<4>();
  h.checksum = at.U16<6>();
}
constexpr void Write(ByteWriter& out, const UdpHeader& h) {
  out.U16(h.source_port);
  out.U16(h.destination_port);
  out.U16(h.length);
  out.U16(h.checksum);
}
static_assert(EncodedSize<UdpHeader>() == UdpHeader::kSize);

}  // namespace rocescope::wire
