// SPDX-License-Identifier: BSD-3-Clause
// Ethernet and IP headers of packets that a switch sends to a collector.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "dataplane/wire/writer.h"

namespace rocescope::sim {

// Addresses of the packet. The source MAC is derived from the switch number.
struct Envelope {
  uint64_t source_mac = 0;
  uint64_t destination_mac = 0;
  IpAddress source;
  IpAddress destination;

  bool ipv4() const { return source.IsV4() && destination.IsV4(); }
  uint32_t Bytes() const { return ipv4() ? 14 + 20 : 14 + 40; }
};

// 02:00:01, then the switch number.
constexpr uint64_t MacOfSwitch(uint32_t number) { return 0x0200'0100'0000 | number; }

// Writes the headers in front of a payload of `length` bytes of `protocol`.
void WriteEnvelope(wire::ByteWriter& out, const Envelope& envelope, uint8_t protocol,
                   uint16_t identification, size_t length);
// Additionally writes a UDP header. Its checksum is zero, which is allowed over IPv4; tunnels and
// telemetry use it over IPv6 too.
void WriteUdpEnvelope(wire::ByteWriter& out, const Envelope& envelope, uint16_t source_port,
                      uint16_t destination_port, uint16_t identification, size_t length);

}  // namespace rocescope::sim
