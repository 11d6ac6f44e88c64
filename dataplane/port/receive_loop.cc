// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/receive_loop.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <array>
#include <span>
#include <thread>

#include "dataplane/port/frame_gatherer.h"
#include "dataplane/port/queue_reader.h"
#include "dataplane/port/spreader.h"

namespace rocescope {
namespace {

constexpr size_t kBurst = 64;
constexpr size_t kWorthHandingOver = 4096;  // records, some 700 kB
constexpr int kChoresPerSecond = 20;
// Event time lags arrival by this much at most where no packet moves it.
constexpr Duration kLateness = std::chrono::seconds(1);

void Prefetch(std::span<rte_mbuf* const> mbufs) {
  for (rte_mbuf* mbuf : mbufs) rte_prefetch0(rte_pktmbuf_mtod(mbuf, void*));
}

// A burst, as mbufs and as frames.
struct Burst {
  FrameGatherer gatherer;
  std::array<rte_mbuf*, kBurst> mbufs;
  std::array<RawFrame, kBurst> frames;
};

}  // namespace

struct ReceiveLoop::Work {
  std::vector<QueueReader> queues;
  std::unique_ptr<Spreader> spreader;  // null: this lcore owns all that it receives
  Burst received;
  Burst taken;               // from other lcores
  uint64_t next_chores = 0;  // TSC
};

ReceiveLoop::ReceiveLoop(Options options)
    : when_full_(options.wait ? RecordExchange::WhenFull::kWait : RecordExchange::WhenFull::kKeep),
      our_clock_(options.our_clock),
      work_(new Work),
      processor_(options.processor),
      exchange_(kWorthHandingOver * 2, options.most_records) {
  for (const ReceiveQueue& queue : options.queues) work_->queues.emplace_back(queue);
  if (options.spread) {
    work_->spreader = std::make_unique<Spreader>(std::move(options.spread), options.lcore,
                                                 options.processor.taps);
  }
}

ReceiveLoop::~ReceiveLoop() = default;

void ReceiveLoop::Run(const std::atomic<bool>& stop) {
  for (QueueReader& queue : work_->queues) queue.Begin();
  if (work_->spreader) work_->spreader->Begin();
  try {
    RunToTheEnd(stop);
  } catch (...) {
    if (work_->spreader) {
      work_->spreader->rings().LcoreFailed();
      work_->spreader->End();
    }
    throw;
  }
}

void ReceiveLoop::RunToTheEnd(const std::atomic<bool>& stop) {
  bool receiving = true;
  const auto stop_receiving = [&] {
    if (work_->spreader) work_->spreader->End();
    receiving = false;
  };
  const auto others_receive = [&] { return work_->spreader && !work_->spreader->AllEnded(); };
  while (!stop.load(std::memory_order_relaxed) && (receiving || others_receive())) {
    if (!ReceiveRound()) stop_receiving();
    TakeFromOthers();
    if (rte_rdtsc() >= work_->next_chores) DoNowAndThen();
  }
  Drain();
  stop_receiving();
  while (others_receive()) {
    if (!TakeFromOthers()) std::this_thread::yield();
  }
  while (TakeFromOthers()) {  // what they left on the rings
  }
  processor_.Flush(exchange_.current());
  exchange_.HandOver(processor_.counters().last, RecordExchange::WhenFull::kWait);
  Publish();
}

// A burst of each queue; false if all have ended.
bool ReceiveLoop::ReceiveRound() {
  bool any = false;
  for (QueueReader& queue : work_->queues) {
    ReceiveFrom(queue);
    any = any || !queue.ended();
  }
  return any;
}

// From mbufs to records; false if there were none.
bool ReceiveLoop::ReceiveFrom(QueueReader& queue) {
  Burst& burst = work_->received;
  const size_t received = queue.ended() ? 0 : queue.Receive(burst.mbufs);
  if (received == 0) return false;
  const std::span<rte_mbuf*> mbufs(burst.mbufs.data(), received);
  Prefetch(mbufs);
  const std::span frames(burst.frames.data(), burst.gatherer.View(mbufs, burst.frames));
  queue.Stamp(mbufs, WallClock(), frames);
  for (const RawFrame& frame : frames) statistics_.octets += frame.original_length;
  if (!statistics_.received_any) statistics_.first_arrival = frames.front().timestamp;
  statistics_.received_any = true;
  statistics_.first_arrival = std::min(statistics_.first_arrival, frames.front().timestamp);
  statistics_.last_arrival = std::max(statistics_.last_arrival, frames.back().timestamp);
  const size_t own = work_->spreader ? work_->spreader->KeepOwn(mbufs, frames) : received;
  Account(burst.gatherer, mbufs.first(own), frames.first(own));
  if (own < received) PassOn();
  return true;
}

// Nobody waits for a ring with frames of a wire in hand. With those of a file one may: emptying the
// rings that lead here is what the others wait for.
void ReceiveLoop::PassOn() {
  while (!work_->spreader->PassOn()) {
    if (when_full_ == RecordExchange::WhenFull::kKeep || work_->spreader->rings().failed()) {
      processor_.CountDropped(DropReason::kLostBetweenLcores, work_->spreader->DropWaiting());
    } else if (!TakeFromOthers()) {
      std::this_thread::yield();
    }
  }
}

bool ReceiveLoop::TakeFromOthers() {
  if (!work_->spreader) return false;
  Burst& burst = work_->taken;
  const size_t taken = work_->spreader->Take(burst.mbufs);
  if (taken == 0) return false;
  const std::span<rte_mbuf*> mbufs(burst.mbufs.data(), taken);
  Prefetch(mbufs);
  const std::span frames(burst.frames.data(), burst.gatherer.View(mbufs, burst.frames));
  for (size_t i = 0; i < taken; ++i) work_->spreader->Recall(*mbufs[i], frames[i]);
  Account(burst.gatherer, mbufs, frames);
  return true;
}

// And frees them.
void ReceiveLoop::Account(FrameGatherer& gatherer, std::span<rte_mbuf*> mbufs,
                          std::span<RawFrame> frames) {
  while (!frames.empty()) {
    const size_t whole = gatherer.Complete(mbufs, frames);
    processor_.Process(frames.first(whole), exchange_.current());
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(whole));
    frames = frames.subspan(whole);
    mbufs = mbufs.subspan(whole);
    if (exchange_.current_size() < kWorthHandingOver) continue;
    exchange_.HandOver(processor_.counters().last, when_full_);
  }
}

// Until each queue was empty once, or has given all that it can have held: what goes on coming must
// not keep a loop that was told to stop.
void ReceiveLoop::Drain() {
  for (QueueReader& queue : work_->queues) {
    for (size_t bursts = queue.BurstsHeld(kBurst); bursts > 0; --bursts) {
      if (!ReceiveFrom(queue) && (queue.ended() || !queue.port().is_file())) break;
    }
  }
}

void ReceiveLoop::DoNowAndThen() {
  work_->next_chores = rte_rdtsc() + rte_get_tsc_hz() / kChoresPerSecond;
  for (QueueReader& queue : work_->queues) queue.ReadClock();
  if (our_clock_) processor_.Advance(WallClock() - kLateness, exchange_.current());
  exchange_.HandOver(processor_.counters().last, when_full_);
  Publish();
}

void ReceiveLoop::Publish() {
  statistics_.frames = processor_.counters();
  statistics_.flows = processor_.flows().statistics();
  statistics_.flows_open = processor_.flows().size();
  statistics_.records = exchange_.handed_over();
  statistics_.records_dropped = exchange_.dropped();
  statistics_.linearised =
      work_->received.gatherer.linearised() + work_->taken.gatherer.linearised();
  if (work_->spreader) statistics_.passed_on = work_->spreader->passed_on();
  published_.Publish(statistics_);
}

std::vector<const Port*> ReceiveLoop::UnfinishedFiles() const {
  std::vector<const Port*> files;
  for (const QueueReader& queue : work_->queues) {
    if (queue.port().is_file() && !queue.ended()) files.push_back(&queue.port());
  }
  return files;
}

std::vector<MirrorStream> ReceiveLoop::MirrorStreams() const {
  return work_->spreader ? work_->spreader->taps().MirrorStreams()
                         : processor_.taps().MirrorStreams();
}

}  // namespace rocescope
