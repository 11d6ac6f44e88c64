// SPDX-License-Identifier: BSD-3-Clause
// From a frame on the simulated wire to the octets of a real one: Ethernet, IPv4 or IPv6, UDP, BTH
// and what follows it, a payload, iCRC. Everything but Frame's own fields is the queue pair's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/qpn.h"
#include "sim/emit/payload.h"
#include "sim/host/network.h"

namespace rocescope::sim {

// MACs of NICs, locally administered: 02:00:00 and the NIC's index. No switch changes them: a
// copy's TTL tells the hop.
constexpr uint64_t MacOfNic(topology::NicIndex nic) { return 0x0200'0000'0000 | nic; }

// The first address of a NIC; one that has none gets 10.254.0.0 + its index.
IpAddress AddressOf(const topology::Fabric& fabric, topology::NicIndex nic);

// DSCP of a priority as lossless fabrics map them, three bits each: 26 for 3, 48 for 6.
constexpr uint8_t DscpOf(uint32_t priority) {
  return static_cast<uint8_t>(priority << 3 | (priority == 3 ? 2 : 0));
}

// One serves all that taps, samples and reports of one network.
class PacketWriter {
 public:
  // Bytes in front of a packet's payload, at most: IPv6, and BTH with its longest extension.
  static constexpr size_t kMaxHeaders = 14 + 40 + 8 + 12 + 28;

  // The network must outlive it. It asks for a queue pair when its first frame comes.
  explicit PacketWriter(Network& network);

  // Bytes of the whole frame without FCS.
  uint32_t LengthOf(const Frame& frame);
  // Writes as much of the frame as `room` holds, from its first octet; tells how much that was. No
  // frame of PFC: these never leave their link.
  //
  // A clear-to-send's payload is NCCL's (ncclIbSendFifo, releases 2.4 to 2.26): address, size,
  // which is the frame's `immediate`, rkey, number of requests, tag, index. A corrupt frame's iCRC
  // is wrong by one bit.
  size_t WriteFrame(const Frame& frame, std::span<uint8_t> room);

 private:
  struct Flow {
    bool known = false;
    bool ipv4 = true;
    topology::NicIndex from = 0;
    uint16_t udp_source_port = 0;
    Qpn destination_qpn;
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

  Network& network_;
  const Payload payload_;
  std::vector<Flow> flows_;  // by the sender's queue pair
};

}  // namespace rocescope::sim
