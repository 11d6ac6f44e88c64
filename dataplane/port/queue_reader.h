// SPDX-License-Identifier: BSD-3-Clause
// One receive queue as seen by its lcore: bursts, timestamps, and the end of a file.
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

  // Call after the port has started, because drivers register their timestamp field only then.
  void Begin();

  // Receives the next burst; 0 if there is none at present.
  size_t Receive(std::span<rte_mbuf*> mbufs);

  // Sets the tap and the timestamps of the frames of one burst.
  void Stamp(std::span<rte_mbuf* const> mbufs, Timestamp arrival, std::span<RawFrame> frames) const;

  // True if a file ended or the queue is unused: there will be no more bursts.
  bool ended() const { return ended_; }
  const Port& port() const { return *queue_.port; }

  // Maximum number of bursts in the queue. Rings and sockets of virtual devices hold more frames
  // than their number of descriptors.
  size_t BurstsHeld(size_t burst) const {
    constexpr size_t kVirtual = 65'536;  // frames
    return std::max<size_t>(queue_.port->ring_size(), kVirtual) / burst + 1;
  }

  // Reads the NIC's clock; call periodically.
  void ReadClock();

 private:
  void LookForEnd(size_t received);

  ReceiveQueue queue_;
  PortTime time_;
  TimestampField timestamps_;
  NicClock clock_;
  bool ended_ = false;
  uint32_t empty_bursts_ = 0;      // consecutive empty bursts, counting from the first short one
  uint64_t frames_when_idle_ = 0;  // the port's frame count when the empty bursts began
};

}  // namespace rocescope
