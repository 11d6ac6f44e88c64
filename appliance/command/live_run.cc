// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/live_run.h"

#include <algorithm>
#include <thread>

#include "appliance/command/message.h"
#include "appliance/command/stop_signal.h"

namespace rocescope {
namespace {

// An lcore that has said nothing for so long does not hold the others' time back.
constexpr auto kSilent = std::chrono::seconds(1);

LiveCounts Count(const Ports& ports, const Loops& loops) {
  LiveCounts counts;
  for (const auto& loop : loops) {
    const LcoreStatistics lcore = loop->Statistics();
    counts.frames += lcore.frames;
    counts.flows += lcore.flows_open;
    counts.records += lcore.records;
    counts.records_dropped += lcore.records_dropped;
    counts.passing_dropped += lcore.passing_dropped;
  }
  for (const auto& port : ports) {
    const PortCounters port_counts = port->Counters();
    counts.missed += port_counts.missed;
    counts.no_mbuf += port_counts.no_mbuf;
    counts.errors += port_counts.errors;
    counts.mbufs_in_use =
        std::max(counts.mbufs_in_use, static_cast<double>(port->MbufsInUse()) / port->mbufs());
  }
  return counts;
}

}  // namespace

LiveRun::LiveRun(const Ports& ports, const Loops& loops, Analysis& analysis,
                 std::optional<Duration> length)
    : ports_(ports), loops_(loops), analysis_(analysis), length_(length), reached_(loops.size()) {}

void LiveRun::Run() {
  try {
    TakeUntilTheEnd();
  } catch (...) {
    // Nobody takes records any more: the lcores must not wait for that.
    stop_.store(true, std::memory_order_relaxed);
    for (const auto& loop : loops_) loop->records().Abandon();
    throw;
  }
}

void LiveRun::TakeUntilTheEnd() {
  const Clock::time_point begin = Clock::now();
  told_at_ = begin;
  while (true) {
    // Looked at first: what the lcores handed over before they ended is then there to be taken.
    const bool ended = ended_.load(std::memory_order_acquire);
    const Clock::time_point now = Clock::now();
    const bool took = TakeRecords(now);
    if (InputEndedBySignal() || (length_ && now - begin >= *length_)) {
      stop_.store(true, std::memory_order_relaxed);
    }
    if (now - told_at_ >= std::chrono::seconds(1)) Tell(now);
    if (took) continue;
    if (ended) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool LiveRun::TakeRecords(Clock::time_point now) {
  bool took = false;
  for (size_t lcore = 0; lcore < loops_.size(); ++lcore) {
    RecordExchange& records = loops_[lcore]->records();
    while (HandedBatch* batch = records.Take()) {
      took = true;
      analysis_.Ingest(batch->records);
      reached_[lcore] = {.event = batch->reached, .said = now};
      records.GiveBack(batch);
      Advance(now);
    }
  }
  return took;
}

void LiveRun::Advance(Clock::time_point now) {
  Timestamp least = Timestamp::max();
  for (const Reached& reached : reached_) {
    if (reached.event == Timestamp{} || now - reached.said > kSilent) continue;
    least = std::min(least, reached.event);
  }
  if (least != Timestamp::max()) analysis_.Advance(least);
}

void LiveRun::Tell(Clock::time_point now) {
  const LiveCounts counts = Count(ports_, loops_);
  Message(LiveLine(told_, counts, now - told_at_));
  told_ = counts;
  told_at_ = now;
}

}  // namespace rocescope
