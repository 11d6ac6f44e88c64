// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/receive_loop.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>
#include <span>

#include "dataplane/port/frame_gatherer.h"
#include "dataplane/port/mbuf_time.h"

namespace rocescope {
namespace {

constexpr uint16_t kBurst = 64;
constexpr size_t kWorthHandingOver = 4096;  // records, some 700 kB
constexpr uint32_t kEmptyBurstsOfAnEnd = 256;
constexpr int kChoresPerSecond = 20;
// Event time lags arrival by this much at most where no packet moves it.
constexpr Duration kLateness = std::chrono::seconds(1);

Timestamp Now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

}  // namespace

struct ReceiveLoop::Source {
  ReceiveQueue queue;
  PortTime time = PortTime::kArrival;
  NicClock clock;
  bool ended = false;
  uint32_t empty_bursts = 0;      // in a row
  uint64_t frames_when_idle = 0;  // of the port, when they began
};

struct ReceiveLoop::Work {
  TimestampField timestamps = TimestampField::Find();
  FrameGatherer gatherer;
  std::array<rte_mbuf*, kBurst> mbufs;
  std::array<RawFrame, kBurst> frames;
  uint64_t next_chores = 0;  // TSC
};

ReceiveLoop::ReceiveLoop(Options options)
    : wait_for_reader_(options.wait_for_reader),
      most_records_(options.most_records),
      processor_(std::move(options.processor)),
      exchange_(kWorthHandingOver * 2),
      work_(new Work) {
  for (const ReceiveQueue& queue : options.queues) {
    sources_.push_back({.queue = queue, .time = queue.port->time()});
  }
}

ReceiveLoop::~ReceiveLoop() = default;

void ReceiveLoop::Run(const std::atomic<bool>& stop) {
  const uint64_t period = rte_get_tsc_hz() / kChoresPerSecond;
  while (!stop.load(std::memory_order_relaxed)) {
    bool all_ended = true;
    for (Source& source : sources_) {
      if (source.ended) continue;
      all_ended = false;
      Poll(source);
    }
    if (all_ended && !sources_.empty()) break;
    if (rte_rdtsc() >= work_->next_chores) {
      work_->next_chores = rte_rdtsc() + period;
      DoNowAndThen(Now());
    }
  }
  for (Source& source : sources_) Drain(source);
  Finish();
}

// One burst of a queue, from mbufs to records.
void ReceiveLoop::Poll(Source& source) {
  const uint16_t received =
      rte_eth_rx_burst(source.queue.port->id(), source.queue.queue, work_->mbufs.data(), kBurst);
  if (received == 0) {
    if (source.queue.port->is_file()) LookForEnd(source);
    return;
  }
  source.empty_bursts = 0;
  const std::span<rte_mbuf*> mbufs(work_->mbufs.data(), received);
  for (rte_mbuf* mbuf : mbufs) rte_prefetch0(rte_pktmbuf_mtod(mbuf, void*));
  const Timestamp arrival = Now();
  for (size_t done = 0; done < received;) {
    const auto left = mbufs.subspan(done);
    const size_t taken = work_->gatherer.Gather(left, work_->frames);
    const auto frames = std::span(work_->frames).first(taken);
    for (size_t i = 0; i < taken; ++i) {
      frames[i].tap = source.queue.tap;
      frames[i].timestamp = TimeOf(*left[i], work_->timestamps, source.time, source.clock, arrival);
    }
    if (!statistics_.received_any) {
      statistics_.received_any = true;
      statistics_.first_arrival = frames.front().timestamp;
    }
    statistics_.first_arrival = std::min(statistics_.first_arrival, frames.front().timestamp);
    statistics_.last_arrival = std::max(statistics_.last_arrival, frames.back().timestamp);
    processor_.Process(frames, exchange_.current().records);
    done += taken;
  }
  rte_pktmbuf_free_bulk(work_->mbufs.data(), received);
  if (exchange_.current().size() >= kWorthHandingOver) HandOver();
}

// A file's driver says nothing at its end. Nor does it deliver, or lose a frame for want of an
// mbuf.
void ReceiveLoop::LookForEnd(Source& source) {
  if (source.empty_bursts++ > 0 && source.empty_bursts < kEmptyBurstsOfAnEnd) return;
  const PortCounters counters = source.queue.port->Counters();
  const uint64_t frames = counters.delivered + counters.no_mbuf;
  source.ended = source.empty_bursts > 1 && frames == source.frames_when_idle;
  source.frames_when_idle = frames;
  source.empty_bursts = 1;
}

// What the queue held when it was told to stop, and not what comes meanwhile.
void ReceiveLoop::Drain(Source& source) {
  for (int bursts = source.queue.port->ring_size() / kBurst + 1; bursts > 0 && !source.ended;
       --bursts) {
    const uint64_t before = processor_.counters().ledger.received;
    Poll(source);
    if (processor_.counters().ledger.received == before) break;
  }
}

void ReceiveLoop::HandOver() {
  HandedBatch& batch = exchange_.current();
  batch.reached = processor_.counters().last;
  const size_t records = batch.size();
  bool handed = exchange_.TryHandOver();
  while (!handed && wait_for_reader_ && !exchange_.abandoned()) {
    rte_delay_us_sleep(100);
    handed = exchange_.TryHandOver();
  }
  if (handed) {
    statistics_.records += records;
  } else if (records > most_records_) {
    statistics_.records_dropped += records;
    batch.records.Clear();
  }
}

void ReceiveLoop::DoNowAndThen(Timestamp now) {
  bool on_our_clock = true;
  for (Source& source : sources_) {
    on_our_clock = on_our_clock && source.time != PortTime::kEpochMicroseconds;
    uint64_t ticks = 0;
    if (source.time == PortTime::kNicClock &&
        rte_eth_read_clock(source.queue.port->id(), &ticks) == 0) {
      source.clock.Anchor(ticks, now);
    }
  }
  // Silence closes intervals too.
  if (on_our_clock) processor_.Advance(now - kLateness, exchange_.current().records);
  HandOver();
  Publish();
}

void ReceiveLoop::Finish() {
  processor_.Flush(exchange_.current().records);
  HandedBatch& batch = exchange_.current();
  batch.reached = processor_.counters().last;
  statistics_.records += batch.size();
  while (!exchange_.TryHandOver() && !exchange_.abandoned()) rte_delay_us_sleep(100);
  Publish();
}

void ReceiveLoop::Publish() {
  statistics_.frames = processor_.counters();
  statistics_.flows = processor_.flows().statistics();
  statistics_.flows_open = processor_.flows().size();
  statistics_.linearised = work_->gatherer.linearised();
  published_.Publish(statistics_);
}

}  // namespace rocescope
