// SPDX-License-Identifier: BSD-3-Clause
// The output of one sFlow agent: samples are collected in a datagram, which is sent when it is full
// or when its owner calls Send.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "dataplane/wire/sflow_writer.h"
#include "sim/emit/collector_port.h"
#include "sim/emit/envelope.h"
#include "topology/fabric.h"

namespace rocescope::sim {

inline constexpr uint16_t kSflowPort = 6343;  // UDP

class SflowExporter {
 public:
  struct Packet {
    uint32_t length = 0;              // bytes without FCS
    std::span<const uint8_t> header;  // its first bytes
  };
  struct PacketSample {
    uint32_t sequence = 0;  // counts the samples of this port
    uint32_t rate = 0;
    uint32_t pool = 0;  // packets that could have been sampled
    uint32_t input = 0;
    uint32_t output = 0;
    Packet packet;
  };
  struct DiscardedPacket {
    uint32_t sequence = 0;
    uint32_t input = 0;
    uint32_t output = 0;  // 0: unknown
    uint32_t missed = 0;  // discarded packets that were not reported
    uint32_t reason = 0;  // wire::kSflowDrop...
    Packet packet;
  };
  struct Counters {
    uint32_t sequence = 0;  // counts the counter samples of this port
    uint32_t port = 0;
    uint64_t bits_per_second = 0;
    bool is_up = false;
    bool is_enabled = true;
    uint64_t rx_bytes = 0;  // without FCS
    uint64_t rx_frames = 0;
    uint64_t rx_discards = 0;
    uint64_t fcs_errors = 0;
    uint64_t tx_bytes = 0;  // without FCS
    uint64_t tx_frames = 0;
    uint64_t tx_discards = 0;
  };

  // `node`: a switch with the address of an sFlow agent; `number`: counted among the switches. The
  // port must outlive this object.
  SflowExporter(const topology::Node& node, uint32_t number, CollectorPort& port,
                uint16_t udp_port = kSflowPort);

  // Uptime of an agent when the run starts.
  static constexpr SimTime kUptimeBefore = 86'400 * kSecond;

  void Add(SimTime now, const PacketSample& sample);
  void Add(SimTime now, const DiscardedPacket& packet);
  // Interface counters (RFC 2863) and Ethernet counters (RFC 3635).
  void Add(SimTime now, const Counters& counters);

  // When the unfinished datagram was started; nullopt if there is none.
  std::optional<SimTime> waits_since() const {
    return datagram_ ? std::optional<SimTime>(datagram_start_) : std::nullopt;
  }
  uint32_t datagrams() const { return sequence_; }  // started since the agent's start
  void Send(SimTime now);
  // The agent starts again; what was not sent is lost.
  void Restart(SimTime now);

 private:
  static constexpr size_t kMaxDatagram = 1400;  // bytes after the UDP header

  wire::SflowWriter& DatagramFor(SimTime now, size_t bytes);
  void AddHeader(wire::SflowWriter& datagram, const Packet& packet) const;

  CollectorPort& port_;
  const IpAddress address_;
  const Envelope envelope_;
  const uint16_t udp_port_;
  uint32_t sequence_ = 0;
  SimTime started_ = -kUptimeBefore;
  SimTime datagram_start_ = 0;
  std::vector<uint8_t> room_;
  std::optional<wire::SflowWriter> datagram_;  // writes into `room_`
};

}  // namespace rocescope::sim
