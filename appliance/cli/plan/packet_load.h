// SPDX-License-Identifier: BSD-3-Clause
// Packet rates of RoCE on a link, and the size of their copies: closed forms.
#pragma once

#include <cstdint>

namespace rocescope::plan {

// In bytes, without FCS unless noted.
inline constexpr uint32_t kEthernet = 14;
inline constexpr uint32_t kIpv4 = 20;
inline constexpr uint32_t kUdp = 8;
inline constexpr uint32_t kBth = 12;   // IBTA vol. 1, section 9.2
inline constexpr uint32_t kReth = 16;  // section 9.3.2
inline constexpr uint32_t kAeth = 4;   // section 9.3.5
inline constexpr uint32_t kIcrc = 4;
// FCS, preamble with delimiter, and interframe gap (IEEE 802.3, clauses 3 and 4).
inline constexpr uint32_t kOnTheWire = 4 + 8 + 12;

// Minimum size of a copy: the headers up to RETH.
inline constexpr uint32_t kMinTruncation = kEthernet + kIpv4 + kUdp + kBth + kReth;
// Sufficient for NCCL's clear-to-send messages, and for headers with VLAN or IPv6.
inline constexpr uint32_t kGoodTruncation = 96;
// All data that rocescope reads, with space for tags and tunnels.
inline constexpr uint32_t kUsualTruncation = 128;

// A full packet of a message; 4096 bytes of payload give 4154.
constexpr uint32_t DataFrame(uint32_t path_mtu) {
  return kEthernet + kIpv4 + kUdp + kBth + path_mtu + kIcrc;
}
inline constexpr uint32_t kAckFrame = kEthernet + kIpv4 + kUdp + kBth + kAeth + kIcrc;

// The headers of a copy: Ethernet, IPv4, and by ERSPAN type GRE only (I), GRE with sequence and 8
// bytes (II), or 12 bytes and the platform's 8 (III). draft-foschiano-erspan-03, sections 4.1 to
// 4.3.
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

// Size of the copy of a data packet in bytes, without FCS.
uint32_t CopyFrame(const PacketShape& shape);

struct Load {
  double per_second = 0;       // packets, or copies
  double bits_per_second = 0;  // including preamble, FCS and interframe gap

  Load& operator+=(const Load& other) {
    per_second += other.per_second;
    bits_per_second += other.bits_per_second;
    return *this;
  }
  friend Load operator*(Load load, double by) {
    return {load.per_second * by, load.bits_per_second * by};
  }
};

// One direction of a link that is full of data and of the ACKs for as much data in the other
// direction.
Load TrafficAtLineRate(uint64_t link_bits_per_second, const PacketShape& shape);

// The copies of this traffic.
Load CopiesAtLineRate(uint64_t link_bits_per_second, const PacketShape& shape);

}  // namespace rocescope::plan
