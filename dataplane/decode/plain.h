// SPDX-License-Identifier: BSD-3-Clause
// Fast path of the decoder for the frames that make up nearly all traffic: Ethernet with at most
// one VLAN tag, IPv4 without options or fragments, and UDP to the RoCE port, either alone or
// encapsulated in ERSPAN III. It has no loops and few branches, and writes few fields. All other
// frames take the general path of decode.h. Both paths agree on plain frames (plain_test.cc,
// tests/fuzz/decode_fuzz.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/decode/erspan_mark.h"
#include "dataplane/decode/frame.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/roce.h"

namespace rocescope {
namespace plain {

inline constexpr size_t kEthernet = wire::EthernetHeader::kSize;
inline constexpr size_t kIp = wire::Ipv4Header::kSize;
inline constexpr size_t kTag = wire::VlanTag::kSize;
inline constexpr size_t kUdp = wire::UdpHeader::kSize;
inline constexpr size_t kHeaders = kIp + kUdp + wire::Bth::kSize;
inline constexpr size_t kLeast = kEthernet + kTag + kHeaders;  // shorter frames are never plain

// The bytes between the MAC addresses and the rest of an IPv4 header of five words: the EtherType
// and the header's first byte. A VLAN tag precedes them.
constexpr uint32_t kTypeAndWords = wire::InMemoryOrder<uint32_t>(0x0800'4500);
constexpr uint32_t kTypeAndWordsMask = wire::InMemoryOrder<uint32_t>(0xffff'ff00);

// Bytes 4 to 11 of an IPv4 header of an unfragmented packet.
constexpr uint64_t kFragmentAndProtocolMask = wire::InMemoryOrder<uint64_t>(0x0000'3fff'00ff'0000);
constexpr uint64_t FragmentAndProtocol(uint8_t protocol) {
  return wire::InMemoryOrder<uint64_t>(uint64_t{protocol} << 16);
}

// Number of bytes before the IP header: 14, or 18 with one VLAN tag. Reads 14 bytes.
inline size_t LinkBytes(const uint8_t* data) {
  const bool tagged = wire::Block<kEthernet>(data).U16<12>() == wire::kEtherTypeVlan;
  return tagged ? kEthernet + kTag : kEthernet;
}

// Returns zero if an IPv4 header without options or fragmentation that carries `protocol` begins at
// `ip`, directly after its EtherType.
inline uint64_t Strangeness(const uint8_t* ip, uint8_t protocol) {
  const wire::Block<4> front(ip - 2);
  const wire::Block<kIp> at(ip);
  return uint64_t{(front.Raw32<0>() & kTypeAndWordsMask) ^ kTypeAndWords} |
         ((at.Raw64<4>() & kFragmentAndProtocolMask) ^ FragmentAndProtocol(protocol));
}

// Parses `size` bytes that begin with an Ethernet header.
[[gnu::always_inline]] inline bool ReadEthernet(const uint8_t* data, size_t size,
                                                RocePacket& packet) {
  if (size < kLeast) return false;
  const size_t link = LinkBytes(data);
  const uint8_t* ip = data + link;
  const wire::Block<kHeaders> at(ip);
  const uint64_t udp = at.U64<kIp>();  // ports, length, checksum
  const uint64_t bth = at.U64<kIp + kUdp>();
  const auto opcode = static_cast<uint8_t>(bth >> 56);
  const wire::OpcodeTraits& traits = wire::TraitsOf(opcode);
  const auto ip_length = static_cast<uint32_t>(at.U16<2>());
  const auto udp_length = static_cast<uint32_t>(udp >> 16 & 0xffff);
  const uint32_t pad = static_cast<uint32_t>(bth >> 52) & 3;
  const uint32_t qpn = static_cast<uint32_t>(bth) & k24BitMask;
  const uint32_t around =
      static_cast<uint32_t>(kUdp + wire::Bth::kSize + wire::kIcrcSize) + traits.header_bytes + pad;
  constexpr uint64_t kTransportVersion = uint64_t{0xf} << 48;
  // Datagrams are excluded because they may be connection management (CM) messages.
  constexpr uint8_t kUsual = wire::kOpcodeDefined | wire::kOpcodeDatagram;
  // Negative if a length field exceeds the space for it.
  const uint32_t slack =
      (ip_length - static_cast<uint32_t>(kIp) - udp_length) | (udp_length - around);
  // Combines all checks into one branch that is almost always predicted correctly.
  const uint64_t strangeness =
      Strangeness(ip, wire::kIpProtocolUdp) | ((udp >> 32 & 0xffff) ^ wire::kUdpPortRoce) |
      (bth & kTransportVersion) | ((traits.flags & kUsual) ^ wire::kOpcodeDefined) | (slack >> 31);
  if (strangeness != 0) [[unlikely]]
    return false;
  const wire::Block<kEthernet> ethernet(data);
  const uint64_t addresses = at.U64<12>();
  const uint32_t last = at.U32<kIp + kUdp + 8>();
  packet.source = IpAddress::FromV4(static_cast<uint32_t>(addresses >> 32));
  packet.destination = IpAddress::FromV4(static_cast<uint32_t>(addresses));
  packet.destination_qpn.value = qpn;
  packet.segment = 0;
  packet.extended = ip + kHeaders;
  packet.psn = last & k24BitMask;
  packet.wire_length = static_cast<uint32_t>(link) + ip_length;
  packet.payload_length = udp_length - around;
  packet.extended_bytes = std::min(static_cast<uint32_t>(size - link - kHeaders),
                                   traits.header_bytes + packet.payload_length);
  packet.udp_source_port = static_cast<uint16_t>(udp >> 48);
  packet.mac_signature = FoldMacs(ethernet.Raw32<8>(), ethernet.Raw32<2>());
  packet.opcode = opcode;
  packet.traffic_class = at.U8<1>();
  packet.ttl = at.U8<8>();
  packet.ack_request = last >> 31 != 0;
  packet.cut = size < packet.wire_length;
  return true;
}

// True if the frame may carry ERSPAN: the protocol byte says GRE, with or without a VLAN tag. A
// byte of an address may have that value too, which costs only a useless attempt. A port usually
// receives either only mirrored frames or none, so the branch predicts well.
inline bool MayBeMirrored(const uint8_t* data) {
  constexpr size_t kProtocol = kEthernet + 9;
  const wire::Block<kProtocol + kTag + 1> at(data);
  const bool untagged = at.U8<kProtocol>() == wire::kIpProtocolGre;
  const bool tagged = at.U8<kProtocol + kTag>() == wire::kIpProtocolGre;
  return untagged | tagged;
}

// Parses ERSPAN III and its outer headers. Returns the number of bytes that they occupy at the
// front of `size` bytes, or 0 if there is no ERSPAN III. Sets `size` to the size of the outer
// packet.
[[gnu::always_inline]] inline size_t ReadErspan3(const uint8_t* data, size_t& size,
                                                 ErspanMark& mark) {
  constexpr size_t kGre = 8;  // with a sequence number
  constexpr size_t kErspan = kIp + kGre;
  constexpr size_t kPlatform = kErspan + wire::Erspan3Header::kSize;
  constexpr size_t kAll = kPlatform + wire::ErspanPlatformSubheader::kSize;
  constexpr uint32_t kGreSequenceAndErspan3 = 0x1000'0000 | wire::kEtherTypeErspan3;
  if (size < kEthernet + kTag + kAll) return 0;
  const size_t link = LinkBytes(data);
  const wire::Block<kAll> at(data + link);
  // Version (4 bits), VLAN (12), class and flags (6), session (10), timestamp (32); then security
  // group tag (16), P (1), frame type (5), hardware (6), D (1), Gra (2), O (1).
  const uint64_t head = at.U64<kErspan>();
  const uint32_t tail = at.U32<kErspan + 8>();
  constexpr uint64_t kVersion = 2;
  constexpr uint32_t kFrameType = 0x7c00;  // 0: Ethernet
  const bool has_platform = (tail & 1) != 0;
  const size_t front = has_platform ? kAll : kPlatform;
  const uint32_t ip_length = at.U16<2>();
  const uint64_t strangeness =
      Strangeness(data + link, wire::kIpProtocolGre) | (at.U32<kIp>() ^ kGreSequenceAndErspan3) |
      ((head >> 60) ^ kVersion) | (tail & kFrameType) | (ip_length < front);
  if (strangeness != 0) return 0;
  mark.who = uint64_t{at.U32<12>()} << 32 | ErspanMark::kPresent |
             (head >> 32 & 0x3ff) << ErspanMark::kSessionShift |
             (tail & 0xf) << ErspanMark::kFlagsShift;
  const uint64_t platform = has_platform ? at.U64<kPlatform>() : 0;
  mark.where = static_cast<uint32_t>(platform >> 32);
  mark.timestamp_upper = static_cast<uint32_t>(platform);
  mark.timestamp = static_cast<uint32_t>(head);
  mark.sequence = at.U32<kIp + 4>();
  size = std::min(size, link + ip_length);
  return link + front;
}

}  // namespace plain

// Returns true and fills `packet` if the frame is plain. `mark` is that of its ERSPAN header, or is
// empty.
[[gnu::always_inline]] inline bool ReadPlainRoce(const RawFrame& raw, RocePacket& packet,
                                                 ErspanMark& mark) {
  if (raw.link_type != LinkType::kEthernet) [[unlikely]]
    return false;
  const uint8_t* data = raw.bytes.data();
  size_t size = raw.bytes.size();
  mark.who = 0;
  if (size < plain::kLeast) [[unlikely]]
    return false;
  if (plain::MayBeMirrored(data)) {
    const size_t front = plain::ReadErspan3(data, size, mark);
    data += front;
    size -= front;
  }
  return plain::ReadEthernet(data, size, packet);
}

}  // namespace rocescope
