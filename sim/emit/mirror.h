// SPDX-License-Identifier: BSD-3-Clause
// Mirror sessions: copies of frames at the fabric's taps, sent to a collector as ERSPAN III.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/emit/collector_port.h"
#include "sim/emit/erspan.h"
#include "sim/emit/packet.h"
#include "sim/net/switch.h"

namespace rocescope::sim {

struct MirrorOptions {
  // Bytes kept of each frame; 0 keeps all. 192 bytes include the payload of a clear-to-send.
  uint32_t snap_length = 192;
  // Offset of each switch clock from the wall clock, indexed by node; empty: no offsets.
  std::vector<Duration> clock_errors;
};

// erspan.h describes the headers. Both directions of a session share one sequence. PFC frames are
// never copied.
class Mirror final : public SwitchObserver {
 public:
  struct Count {
    uint64_t copied = 0;  // frames, including lost ones
    uint64_t lost = 0;    // lost on the way to the appliance
  };

  // Creates all taps of the network's fabric. Their switches must have ERSPAN source addresses; the
  // error names the switch that has none. The network, the writer and the port must outlive the
  // mirror.
  static Result<std::unique_ptr<Mirror>> Make(Network& network, PacketWriter& packets,
                                              CollectorPort& port, const MirrorOptions& options);

  void Arrives(const Switch& at, const Port& port, const Frame& frame) override;
  void Queues(const Switch& at, const Port& port, const Frame& frame) override;
  void Departs(const Switch& at, const Port& port, const Frame& frame,
               uint64_t queue_bytes) override;

  // Returns whether any tap is on this switch.
  bool Watches(const Switch& which) const { return watches_[which.number()]; }
  const Count& CountOf(topology::TapIndex tap) const { return counts_[tap]; }

 private:
  static constexpr uint32_t kNoTap = UINT32_MAX;

  // Destination of a port's copies. Entries form a chain if several taps watch the same port and
  // direction.
  struct Entry {
    topology::TapIndex tap = 0;
    uint32_t session = 0;
    uint32_t port_index = 0;
    bool names_port = true;
    uint32_t next = kNoTap;  // index in entries_
  };
  struct Watched {  // indexed by port; first index in entries_
    uint32_t ingress = kNoTap;
    uint32_t before_queue = kNoTap;
    uint32_t egress = kNoTap;
  };

  Mirror(Network& network, PacketWriter& packets, CollectorPort& port,
         const MirrorOptions& options);
  Status Add(topology::TapIndex tap);
  uint32_t SessionOf(topology::NodeIndex node, uint32_t number);

  const Watched& At(const Switch& at, const Port& port) const {
    return watched_[first_port_[at.number()] + port.number()];
  }
  void Copy(uint32_t first, const Frame& frame, bool egress);
  void CopyTo(const Entry& entry, const Frame& frame, bool egress);

  Network& network_;
  PacketWriter& packets_;
  CollectorPort& port_;
  const MirrorOptions options_;
  std::vector<bool> watches_;  // indexed by switch number
  // By switch number: index in watched_, which is in PortIndex order.
  std::vector<uint32_t> first_port_;
  std::vector<Watched> watched_;
  std::vector<Entry> entries_;
  std::vector<ErspanSession> sessions_;
  std::vector<topology::NodeIndex> node_of_session_;
  std::vector<Count> counts_;  // indexed by tap
};

}  // namespace rocescope::sim
