// SPDX-License-Identifier: BSD-3-Clause
// Converts ns-3 packets to the bytes of Ethernet frames.
#pragma once

#include <ns3/packet.h>
#include <ns3/ptr.h>

#include <cstdint>
#include <optional>
#include <span>

#include "base/address.h"
#include "dataplane/wire/roce.h"

namespace rocescope::ns3_export {

// Link-layer headers of the packets that the trace sources of a device report.
struct LinkLayer {
  // PointToPointNetDevice: the two-byte PPP protocol instead of an Ethernet header. Otherwise an
  // Ethernet header and the FCS, as CsmaNetDevice has them.
  bool is_ppp = false;
  // Addresses for the Ethernet header of packets with PPP.
  uint64_t mac = 0;
  uint64_t peer_mac = 0;
};

// Returns the length of the Ethernet frame without FCS.
uint32_t FrameLength(const ns3::Packet& packet, const LinkLayer& link);

// Writes as much of the Ethernet frame as `room` holds and returns the number of bytes. `sent`: the
// device sends the packet; otherwise it receives it.
size_t WriteFrame(const ns3::Packet& packet, const LinkLayer& link, bool sent,
                  std::span<uint8_t> room);

struct RoceHeaders {
  uint8_t ecn = 0;
  IpAddress source;
  IpAddress destination;
  wire::Bth bth;
  wire::Aeth aeth;  // valid in acknowledgements
};
// Returns nullopt if it is not an RoCEv2 packet over IPv4.
std::optional<RoceHeaders> RoceHeadersOf(const ns3::Packet& packet, const LinkLayer& link);

}  // namespace rocescope::ns3_export
