// SPDX-License-Identifier: BSD-3-Clause
// Mirror sessions: copies of frames at the fabric's taps, sent to a collector as ERSPAN III
// (draft-foschiano-erspan-03).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/emit/collector_port.h"
#include "sim/emit/envelope.h"
#include "sim/emit/packet.h"
#include "sim/net/switch.h"

namespace rocescope::sim {

struct MirrorOptions {
  // Bytes kept of a frame; 0: all. 192 keeps a clear-to-send's payload.
  uint32_t snap_length = 192;
  // What switches' clocks say beyond the wall's, by node; empty: nothing.
  std::vector<Duration> clock_errors;
};

// A tap that names its port tells time in IEEE 1588's nanoseconds, with seconds and port in the
// platform sub-header (id 5). One that does not has no sub-header, and counts 100 ns in 32 bits. A
// session's two directions share one sequence. Frames of PFC are never copied.
class Mirror final : public SwitchObserver {
 public:
  struct Count {
    uint64_t copied = 0;  // frames, lost ones too
    uint64_t lost = 0;    // on the way to the box
  };

  // All taps of the network's fabric, whose switches must have ERSPAN source addresses; the error
  // names the one that has none. Network, writer and port must outlive it.
  static Result<std::unique_ptr<Mirror>> Make(Network& network, PacketWriter& packets,
                                              CollectorPort& port, const MirrorOptions& options);

  void Arrives(const Switch& at, const Port& port, const Frame& frame) override;
  void Queues(const Switch& at, const Port& port, const Frame& frame) override;
  void Departs(const Switch& at, const Port& port, const Frame& frame,
               uint64_t queue_bytes) override;

  // Whether it has anything to do at a switch.
  bool Watches(const Switch& which) const { return watches_[which.number()]; }
  const Count& CountOf(topology::TapIndex tap) const { return counts_[tap]; }

 private:
  static constexpr uint32_t kNoTap = UINT32_MAX;

  struct Session {
    uint16_t number = 0;
    uint32_t sequence = 0;
    uint16_t switch_id = 0;
    Duration clock_error{};
    Envelope envelope;
  };
  // Where a port's copies go; chained where several taps watch one port and direction.
  struct Entry {
    topology::TapIndex tap = 0;
    uint32_t session = 0;
    uint32_t port_index = 0;
    bool names_port = true;
    uint32_t next = kNoTap;  // in entries_
  };
  struct Watched {  // by port: firsts in entries_
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
  std::vector<bool> watches_;         // by switch number
  std::vector<uint32_t> first_port_;  // by switch number: in watched_, which is by PortIndex
  std::vector<Watched> watched_;
  std::vector<Entry> entries_;
  std::vector<Session> sessions_;
  std::vector<topology::NodeIndex> node_of_session_;
  std::vector<Count> counts_;  // by tap
};

}  // namespace rocescope::sim
