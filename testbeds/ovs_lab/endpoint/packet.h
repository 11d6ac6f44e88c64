// SPDX-License-Identifier: BSD-3-Clause
// The transport part of a RoCEv2 packet, and its conversion from and to Ethernet frames with IPv4.
#pragma once

#include <cstdint>
#include <span>

#include "base/qpn.h"
#include "dataplane/wire/roce.h"

namespace rocescope::endpoint {

struct Packet {
  uint8_t opcode = 0;
  Qpn destination;
  uint32_t psn = 0;
  bool ack_request = false;
  wire::Reth reth;
  wire::Aeth aeth;
  uint32_t immediate = 0;
  std::span<const uint8_t> payload;
  bool congestion_experienced = false;  // only of received packets
};

// The addresses of packets from a queue pair to its peer.
struct Route {
  uint32_t source = 0;  // IPv4
  uint32_t destination = 0;
  uint16_t udp_source_port = 0;
};

// The locally administered MAC address of a NIC: 02:00 and its IPv4 address.
constexpr uint64_t MacOf(uint32_t address) { return 0x0200'0000'0000 | address; }

// Bytes from the start of the IPv4 header to the end of the iCRC, in addition to the payload: IPv4,
// UDP, BTH, RETH, immediate data and iCRC.
inline constexpr uint32_t kMostIpOverhead = 20 + 8 + 12 + 16 + 4 + 4;
inline constexpr size_t kLongestFrame = 14 + kMostIpOverhead + 4096 + 3;

// Returns the length of the frame, without FCS. `room` must have kLongestFrame bytes.
size_t WriteFrame(const Packet& packet, const Route& route, std::span<uint8_t> room);

enum class Reception : uint8_t {
  kAccepted,
  kForeign,    // not RoCEv2 over IPv4 without fragments, or for another address
  kMalformed,  // lengths or headers are inconsistent
  kBadIcrc,
};

struct ReceivedPacket {
  Packet packet;        // its payload is a part of the frame
  uint32_t source = 0;  // IPv4
};

// Reads a frame for the NIC with the IPv4 address `own`. `out` is valid only if the frame is
// accepted.
Reception ReadFrame(std::span<const uint8_t> frame, uint32_t own, ReceivedPacket& out);

}  // namespace rocescope::endpoint
