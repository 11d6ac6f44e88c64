// SPDX-License-Identifier: BSD-3-Clause
// INT-XD: switches report each hop of selected packets to a collector and do not change the packets
// (P4.org, INT v2.1, "INT-XD"; Telemetry Report Format v2.0).
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "sim/emit/collector_port.h"
#include "sim/emit/envelope.h"
#include "sim/emit/packet.h"
#include "sim/net/switch.h"

namespace rocescope::sim {

struct IntOptions {
  uint32_t shift = 8;                  // one packet in 2^shift is selected
  uint16_t udp_port = 32766;           // of the collector
  uint32_t inner_bytes = 128;          // bytes from the start of the packet
  std::vector<Duration> clock_errors;  // as in MirrorOptions
  uint64_t congested_bytes = 100'000;  // bytes; a longer queue is reported as congested
};

// A switch with an INT id sends a report when a selected packet starts to leave it. The report
// contains the ports, the hop latency, the queue occupancy that the packet leaves behind, both
// times in wall-clock nanoseconds, and the start of the packet. All hops select the same packets,
// and retransmissions are selected like the original. Dropped packets cause no report.
class IntPostcards final : public SwitchObserver {
 public:
  IntPostcards(Network& network, PacketWriter& packets, CollectorPort& port,
               const IntOptions& options);

  bool Chooses(const Frame& frame) const {
    return frame.kind != FrameKind::kForeign &&  // the watchlist contains RoCE only
           (HashCombine(frame.digest, frame.sequence) & mask_) == 0;
  }

  void Arrives(const Switch&, const Port&, const Frame&) override {}
  void Queues(const Switch&, const Port&, const Frame&) override {}
  void Departs(const Switch& at, const Port& port, const Frame& frame,
               uint64_t queue_bytes) override {
    if (Chooses(frame) && port.up()) Report(at, port, frame, queue_bytes);
  }

  uint64_t reports() const { return reports_; }  // sent, including lost ones

 private:
  struct Node {  // indexed by switch number
    uint32_t id = topology::kNone;
    uint32_t sequence = 0;
    topology::PortIndex first_port = 0;
    Duration clock_error{};
    Envelope envelope;
  };

  void Report(const Switch& at, const Port& port, const Frame& frame, uint64_t queue_bytes);

  Network& network_;
  PacketWriter& packets_;
  CollectorPort& port_;
  const IntOptions options_;
  const uint64_t mask_;
  std::vector<Node> nodes_;
  uint64_t reports_ = 0;
};

}  // namespace rocescope::sim
