// SPDX-License-Identifier: BSD-3-Clause
// How many packets RoCE puts on a link, and what their copies weigh: closed forms.
#pragma once

#include <cstdint>

namespace rocescope::plan {

// Bytes; without FCS unless said.
inline constexpr uint32_t kEthernet = 14;
inline constexpr uint32_t kIpv4 = 20;
inline constexpr uint32_t kUdp = 8;
inline constexpr uint32_t kBth = 12;   // IBTA vol. 1, 9.2
inline constexpr uint32_t kReth = 16;  // 9.3.2
inline constexpr uint32_t kAeth = 4;   // 9.3.5
inline constexpr uint32_t kIcrc = 4;
// FCS, preamble with delimiter, and the gap between frames (IEEE 802.3, clauses 3 and 4).
inline constexpr uint32_t kOnTheWire = 4 + 8 + 12;

// Least that a copy must keep for what is read of it: up to RETH.
inline constexpr uint32_t kMinTruncation = kEthernet + kIpv4 + kUdp + kBth + kReth;
// Enough of NCCL's clear-to-sends, and of headers with VLAN or IPv6.
inline constexpr uint32_t kGoodTruncation = 96;
// What there is to read, with room for tags and tunnels.
inline constexpr uint32_t kUsualTruncation = 128;

// A full packet of a message; 4096 octets of payload make 4154.
constexpr uint32_t DataFrame(uint32_t path_mtu) {
  return kEthernet + kIpv4 + kUdp + kBth + path_mtu + kIcrc;
}
inline constexpr uint32_t kAckFrame = kEthernet + kIpv4 + kUdp + kBth + kAeth + kIcrc;

// What a copy has in front: Ethernet, IPv4, and by ERSPAN's type GRE alone (I), with sequence and 8
// octets (II), or 12 and the platform's 8 (III). draft-foschiano-erspan-03, sections 4.1 to 4.3.
constexpr uint32_t MirrorHeaders(uint8_t erspan) {
  return kEthernet + kIpv4 + (erspan == 1 ? 4u : erspan == 2 ? 8u + 8u : 8u + 12u + 8u);
}

struct PacketShape {
  uint32_t path_mtu = 4096;
  uint32_t packets_per_ack = 4;
  uint32_t truncation = kUsualTruncation;  // 0: none
  uint8_t erspan = 3;
  uint32_t one_in = 1;
};

// Bytes of a mirrored data packet's copy, without FCS.
uint32_t CopyFrame(const PacketShape& shape);

struct Load {
  double per_second = 0;       // packets, or copies
  double bits_per_second = 0;  // with what the wire adds

  Load& operator+=(const Load& other) {
    per_second += other.per_second;
    bits_per_second += other.bits_per_second;
    return *this;
  }
  friend Load operator*(Load load, double by) {
    return {load.per_second * by, load.bits_per_second * by};
  }
};

// One direction of a link that is full of data and the ACKs of as much data the other way.
Load TrafficAtLineRate(uint64_t link_bits_per_second, const PacketShape& shape);

// The copies of that traffic.
Load CopiesAtLineRate(uint64_t link_bits_per_second, const PacketShape& shape);

}  // namespace rocescope::plan
