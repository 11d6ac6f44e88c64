// SPDX-License-Identifier: BSD-3-Clause
// Converts a simulated frame to the bytes of a real packet: Ethernet, IPv4 or IPv6, UDP, BTH with
// extended headers, payload and iCRC; or TCP. Fields that are not in Frame come from the queue
// pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/qpn.h"
#include "dataplane/wire/writer.h"
#include "sim/emit/addressing.h"
#include "sim/emit/payload.h"
#include "sim/host/network.h"

namespace rocescope::sim {

// MAC addresses of NICs, locally administered: 02:00:00 and the NIC index. Switches do not rewrite
// them; the TTL of a copy identifies the hop.
constexpr uint64_t MacOfNic(topology::NicIndex nic) { return 0x0200'0000'0000 | nic; }

// One instance serves all mirrors, samples and reports of a network.
class PacketWriter {
 public:
  // Maximum number of bytes before the payload: Ethernet, IPv6, UDP, and BTH with its longest
  // extension.
  static constexpr size_t kMaxHeaders = 14 + 40 + 8 + 12 + 28;

  // The network must outlive this object. The writer looks a queue pair up when its first frame
  // arrives.
  explicit PacketWriter(Network& network);

  // Returns the length of the whole frame without FCS, in bytes.
  uint32_t LengthOf(const Frame& frame);
  // Writes as much of the frame as `room` holds and returns the number of bytes. PFC frames are not
  // supported, because they never leave their link.
  //
  // A clear-to-send has the payload of NCCL's ncclIbSendFifo (releases 2.4 to 2.26): address, size
  // (the frame's `immediate`), rkey, number of requests, tag and index. In a corrupt frame, one bit
  // of the iCRC is wrong.
  size_t WriteFrame(const Frame& frame, std::span<uint8_t> room);

 private:
  struct Flow {
    bool known = false;
    bool ipv4 = true;
    topology::NicIndex from = 0;
    uint16_t udp_source_port = 0;
    Qpn destination_qpn;
    bool foreign = false;           // TCP; the port above is its TCP port
    uint16_t destination_port = 0;  // TCP
    IpAddress source;
    IpAddress destination;
  };

  const Flow& FlowOf(uint32_t queue_pair) {
    if (queue_pair < flows_.size() && flows_[queue_pair].known) [[likely]] {
      return flows_[queue_pair];
    }
    return Learn(queue_pair);
  }
  const Flow& Learn(uint32_t queue_pair);
  size_t WriteHeaders(const Frame& frame, const Flow& flow, std::span<uint8_t> room) const;
  // Ethernet and IP.
  static void WriteNetwork(wire::ByteWriter& out, const Frame& frame, const Flow& flow,
                           uint8_t protocol, uint16_t datagram, uint16_t identification);
  size_t WriteForeign(const Frame& frame, const Flow& flow, std::span<uint8_t> room) const;

  Network& network_;
  const Payload payload_;
  std::vector<Flow> flows_;  // indexed by the sender's queue pair
};

}  // namespace rocescope::sim
