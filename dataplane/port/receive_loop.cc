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

constexpr size_t kReceiveBurst = 64;
constexpr int kChoresPerSecond = 20;

void Prefetch(std::span<rte_mbuf* const> mbufs) {
  for (rte_mbuf* mbuf : mbufs) rte_prefetch0(rte_pktmbuf_mtod(mbuf, void*));
}

// A burst, as mbufs and as frames.
struct Burst {
  FrameGatherer gatherer;
  std::array<rte_mbuf*, kReceiveBurst> mbufs;
  std::array<RawFrame, kReceiveBurst> frames;
};

}  // namespace

struct ReceiveLoop::Work {
  std::vector<QueueReader> queues;
  std::unique_ptr<Spreader> spreader;  // null: this lcore owns all the frames that it receives
  Burst received;
  Burst taken;               // from other lcores
  uint64_t next_chores = 0;  // TSC
};

ReceiveLoop::ReceiveLoop(Options options)
    : waits_(options.wait),
      work_(new Work),
      worker_({.processor = options.processor,
               .when_full =
                   options.wait ? RecordExchange::WhenFull::kWait : RecordExchange::WhenFull::kKeep,
               .batch_records = options.batch_records,
               .our_clock = options.our_clock,
               .steady = options.our_clock && !options.wait}) {
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
    if (rte_rdtsc() >= work_->next_chores) RunHousekeeping();
  }
  Drain();
  stop_receiving();
  while (others_receive()) {
    if (!TakeFromOthers()) std::this_thread::yield();
  }
  while (TakeFromOthers()) {  // frames that the others left on the rings
  }
  CountForOthers();
  worker_.Finish();
}

// Receives a burst from each queue. Returns false if all queues have ended.
bool ReceiveLoop::ReceiveRound() {
  bool any = false;
  for (QueueReader& queue : work_->queues) {
    ReceiveFrom(queue);
    any = any || !queue.ended();
  }
  return any;
}

// Receives and processes one burst. Returns false if there was none.
bool ReceiveLoop::ReceiveFrom(QueueReader& queue) {
  Burst& burst = work_->received;
  const size_t received = queue.ended() ? 0 : queue.Receive(burst.mbufs);
  if (received == 0) return false;
  const std::span<rte_mbuf*> mbufs(burst.mbufs.data(), received);
  Prefetch(mbufs);
  const std::span frames(burst.frames.data(), burst.gatherer.View(mbufs, burst.frames));
  queue.Stamp(mbufs, WallClock(), frames);
  worker_.CountArrived(frames);
  const size_t own = work_->spreader ? work_->spreader->KeepOwn(mbufs, frames) : received;
  Account(burst.gatherer, mbufs.first(own), frames.first(own));
  if (own < received) PassOn();
  return true;
}

// Never blocks on a full ring while receiving from a live port. With files it may wait; meanwhile
// it empties the rings that lead here, because the other lcores may wait for them.
void ReceiveLoop::PassOn() {
  while (!work_->spreader->PassOn()) {
    if (!waits_ || work_->spreader->rings().failed()) {
      worker_.CountDropped(DropReason::kLostBetweenLcores, work_->spreader->DropWaiting());
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

// Also frees the mbufs.
void ReceiveLoop::Account(FrameGatherer& gatherer, std::span<rte_mbuf*> mbufs,
                          std::span<RawFrame> frames) {
  while (!frames.empty()) {
    const size_t whole = gatherer.Complete(mbufs, frames);
    worker_.Process(frames.first(whole));
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(whole));
    frames = frames.subspan(whole);
    mbufs = mbufs.subspan(whole);
  }
}

// Receives until each queue was empty once or has delivered the maximum that it can hold, so that
// continuous traffic does not prevent the loop from stopping.
void ReceiveLoop::Drain() {
  for (QueueReader& queue : work_->queues) {
    for (size_t bursts = queue.BurstsHeld(kReceiveBurst); bursts > 0; --bursts) {
      if (!ReceiveFrom(queue) && (queue.ended() || !queue.port().is_file())) break;
    }
  }
}

void ReceiveLoop::RunHousekeeping() {
  work_->next_chores = rte_rdtsc() + rte_get_tsc_hz() / kChoresPerSecond;
  for (QueueReader& queue : work_->queues) queue.ReadClock();
  CountForOthers();
  worker_.RunHousekeeping(WallClock());
}

void ReceiveLoop::CountForOthers() {
  worker_.SetLinearised(work_->received.gatherer.linearised() + work_->taken.gatherer.linearised());
  if (work_->spreader) worker_.SetPassedOn(work_->spreader->passed_on());
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
                         : worker_.processor().taps().MirrorStreams();
}

}  // namespace rocescope
