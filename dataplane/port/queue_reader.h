// SPDX-License-Identifier: BSD-3-Clause
// One receive queue as its lcore knows it: bursts, the times of their frames, and a file's end.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "dataplane/decode/frame.h"
#include "dataplane/port/mbuf_time.h"
#include "dataplane/port/nic_clock.h"
#include "dataplane/port/port.h"

namespace rocescope {

class QueueReader {
 public:
  explicit QueueReader(const ReceiveQueue& queue) : queue_(queue), time_(queue.port->time()) {}

  // The port has started: only now have all drivers said where they write timestamps.
  void Begin();

  // The next burst; 0 if there is none now.
  size_t Receive(std::span<rte_mbuf*> mbufs);

  // Fills in the tap and the times of frames that came in one burst.
  void Stamp(std::span<rte_mbuf* const> mbufs, Timestamp arrival, std::span<RawFrame> frames) const;

  // A file ended, or nothing comes by this queue: there will be no more bursts.
  bool ended() const { return ended_; }
  const Port& port() const { return *queue_.port; }

  // Bursts that the queue may hold at once. Rings and sockets of virtual devices hold more than
  // their descriptors.
  size_t BurstsHeld(size_t burst) const {
    constexpr size_t kVirtual = 65'536;  // frames
    return std::max<size_t>(queue_.port->ring_size(), kVirtual) / burst + 1;
  }

  // Now and then: where the NIC's clock stands.
  void ReadClock();

 private:
  void LookForEnd(size_t received);

  ReceiveQueue queue_;
  PortTime time_;
  TimestampField timestamps_;
  NicClock clock_;
  bool ended_ = false;
  uint32_t empty_bursts_ = 0;      // in a row, the one that was only short included
  uint64_t frames_when_idle_ = 0;  // of the port, when they began
};

}  // namespace rocescope
