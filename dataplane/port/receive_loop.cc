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

Timestamp Now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

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
  bool receiving = true;
  const auto stop_receiving = [&] {
    if (receiving && work_->spreader) work_->spreader->rings().LcoreEnded();
    receiving = false;
  };
  const auto others_receive = [&] {
    return work_->spreader && !work_->spreader->rings().AllEnded();
  };
  while (!stop.load(std::memory_order_relaxed) && (receiving || others_receive())) {
    if (!ReceiveRound()) stop_receiving();
    TakeFromOthers();
    if (rte_rdtsc() >= work_->next_chores) DoNowAndThen();
  }
  Drain();
  stop_receiving();
  while (others_receive()) TakeFromOthers();
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
  std::span<rte_mbuf*> left(burst.mbufs.data(), received);
  Prefetch(left);
  const Timestamp arrival = Now();
  while (!left.empty()) {
    const size_t gathered = burst.gatherer.Gather(left, burst.frames);
    const std::span frames = std::span(burst.frames).first(gathered);
    queue.Stamp(left, arrival, frames);
    if (!statistics_.received_any) statistics_.first_arrival = frames.front().timestamp;
    statistics_.received_any = true;
    statistics_.first_arrival = std::min(statistics_.first_arrival, frames.front().timestamp);
    statistics_.last_arrival = std::max(statistics_.last_arrival, frames.back().timestamp);
    const size_t own =
        work_->spreader ? work_->spreader->KeepOwn(left.first(gathered), frames) : gathered;
    Account(frames.first(own));
    rte_pktmbuf_free_bulk(left.data(), static_cast<unsigned>(own));
    if (own < gathered) PassOn();
    left = left.subspan(gathered);
  }
  return true;
}

// Nobody waits for a ring with frames of a wire in hand. With those of a file one may: emptying the
// rings that lead here is what the others wait for.
void ReceiveLoop::PassOn() {
  while (!work_->spreader->PassOn()) {
    if (when_full_ == RecordExchange::WhenFull::kKeep) {
      work_->spreader->DropWaiting();
    } else if (!TakeFromOthers()) {
      std::this_thread::yield();
    }
  }
}

bool ReceiveLoop::TakeFromOthers() {
  if (!work_->spreader) return false;
  Burst& burst = work_->taken;
  const size_t taken = work_->spreader->Take(burst.mbufs);
  std::span<rte_mbuf*> left(burst.mbufs.data(), taken);
  Prefetch(left);
  while (!left.empty()) {
    const size_t gathered = burst.gatherer.Gather(left, burst.frames);
    const std::span frames = std::span(burst.frames).first(gathered);
    for (size_t i = 0; i < gathered; ++i) work_->spreader->Recall(*left[i], frames[i]);
    Account(frames);
    left = left.subspan(gathered);
  }
  rte_pktmbuf_free_bulk(burst.mbufs.data(), static_cast<unsigned>(taken));
  return taken > 0;
}

void ReceiveLoop::Account(std::span<RawFrame> frames) {
  processor_.Process(frames, exchange_.current());
  if (exchange_.current_size() < kWorthHandingOver) return;
  exchange_.HandOver(processor_.counters().last, when_full_);
}

// What the queues held when they were told to stop, and not what comes meanwhile.
void ReceiveLoop::Drain() {
  for (QueueReader& queue : work_->queues) {
    for (size_t bursts = queue.BurstsHeld(kBurst); bursts > 0; --bursts) {
      if (!ReceiveFrom(queue)) break;
    }
  }
}

void ReceiveLoop::DoNowAndThen() {
  work_->next_chores = rte_rdtsc() + rte_get_tsc_hz() / kChoresPerSecond;
  const Timestamp now = Now();
  for (QueueReader& queue : work_->queues) queue.ReadClock(now);
  if (our_clock_) processor_.Advance(now - kLateness, exchange_.current());
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
  if (work_->spreader) {
    statistics_.passed_on = work_->spreader->passed_on();
    statistics_.passing_dropped = work_->spreader->dropped();
  }
  published_.Publish(statistics_);
}

std::vector<MirrorStream> ReceiveLoop::MirrorStreams() const {
  return work_->spreader ? work_->spreader->taps().MirrorStreams()
                         : processor_.taps().MirrorStreams();
}

}  // namespace rocescope
