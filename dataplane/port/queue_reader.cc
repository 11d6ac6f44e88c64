// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/queue_reader.h"

#include <rte_ethdev.h>

namespace rocescope {
namespace {

constexpr uint32_t kEmptyBurstsAtEnd = 256;

}  // namespace

void QueueReader::Begin() {
  timestamps_ = TimestampField::Find();
  clock_ = {};
  ended_ = queue_.port->IsIdle(queue_.queue);
  empty_bursts_ = 0;
}

size_t QueueReader::Receive(std::span<rte_mbuf*> mbufs) {
  const uint16_t received = rte_eth_rx_burst(queue_.port->id(), queue_.queue, mbufs.data(),
                                             static_cast<uint16_t>(mbufs.size()));
  if (queue_.port->is_file() && received < mbufs.size()) [[unlikely]]
    LookForEnd(received);
  return received;
}

// A file's driver does not report its end. At the end it delivers no frames and loses none for lack
// of mbufs. After damage, libpcap may continue at an arbitrary position.
void QueueReader::LookForEnd(size_t received) {
  const bool first = empty_bursts_ == 0 || received > 0;
  empty_bursts_ = first ? 1 : empty_bursts_ + 1;
  if (!first && empty_bursts_ < kEmptyBurstsAtEnd) return;
  const PortCounters counters = queue_.port->Counters().value_or(PortCounters{});
  if (counters.failed_reads > 0) {
    ended_ = true;
    return;
  }
  const uint64_t frames = counters.delivered + counters.no_mbuf;
  ended_ = !first && frames == frames_when_idle_;
  frames_when_idle_ = frames;
  empty_bursts_ = 1;
}

void QueueReader::Stamp(std::span<rte_mbuf* const> mbufs, Timestamp arrival,
                        std::span<RawFrame> frames) const {
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].tap = queue_.tap;
    frames[i].timestamp = TimeOf(*mbufs[i], timestamps_, time_, clock_, arrival);
  }
}

void QueueReader::ReadClock() {
  if (time_ != PortTime::kNicClock) return;
  uint64_t ticks = 0;
  const Timestamp before = WallClock();
  if (rte_eth_read_clock(queue_.port->id(), &ticks) == 0) {
    clock_.Anchor(ticks, before, WallClock());
  }
}

}  // namespace rocescope
