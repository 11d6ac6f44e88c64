// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "appliance/cli/command/message.h"
#include "appliance/cli/command/stop_signal.h"

namespace rocescope {
namespace {

LiveCounts Count(const Ports& ports, const Loops& loops) {
  LiveCounts counts;
  for (const auto& loop : loops) {
    const SourceStatistics lcore = loop->Statistics();
    counts.frames += lcore.frames;
    counts.bytes += lcore.bytes;
    counts.flows += lcore.flows_open;
    counts.records += lcore.records;
    counts.records_dropped += lcore.records_dropped;
  }
  for (const auto& port : ports) {
    const PortCounters port_counts = port->Counters().value_or(PortCounters{});
    counts.missed += port_counts.missed;
    counts.no_mbuf += port_counts.no_mbuf;
    counts.errors += port_counts.errors;
    counts.mbufs_in_use =
        std::max(counts.mbufs_in_use, static_cast<double>(port->MbufsInUse()) / port->mbufs());
  }
  return counts;
}

std::vector<RecordExchange*> RecordsOf(const Loops& loops) {
  std::vector<RecordExchange*> records;
  for (const auto& loop : loops) records.push_back(&loop->records());
  return records;
}

}  // namespace

LiveRun::LiveRun(const Ports& ports, const Loops& loops, Sink sink, std::optional<Duration> length)
    : ports_(ports),
      loops_(loops),
      taker_(RecordsOf(loops), std::move(sink.records)),
      note_(std::move(sink.note)),
      mbufs_peaks_(ports.size()),
      traps_(ports.size()),
      links_(ports.size(), Port::Link::kUp),
      length_(length) {}

void LiveRun::Run() {
  try {
    TakeUntilTheEnd();
  } catch (...) {
    // Records are no longer consumed: the receiving cores must not wait.
    Stop();
    taker_.Abandon();
    throw;
  }
}

void LiveRun::TakeUntilTheEnd() {
  const Clock::time_point begin = Clock::now();
  told_at_ = begin;
  while (true) {
    // Read the flag first: everything that the receiving cores handed over before is then
    // available.
    const bool ended = ended_.load(std::memory_order_acquire);
    const Clock::time_point now = Clock::now();
    const bool took = taker_.TakeRound(now);
    if (InputEndedBySignal() || (length_ && now - begin >= *length_)) {
      Stop();
    }
    LookAtPools();
    if (now - told_at_ >= std::chrono::seconds(1)) Tell(now);
    if (took) continue;
    if (ended) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  LookForTraps();
}

void LiveRun::LookAtPools() {
  for (size_t i = 0; i < ports_.size(); ++i) {
    mbufs_peaks_[i] = std::max(mbufs_peaks_[i], ports_[i]->MbufsInUse());
  }
}

void LiveRun::LookForTraps() {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const std::optional<PortCounters> counters = ports_[i]->Counters();
    if (!counters) continue;
    std::string trap =
        traps_[i].Look(ports_[i]->name(),
                       {.on_wire = counters->on_wire,
                        .delivered = counters->delivered + counters->missed + counters->no_mbuf});
    if (!trap.empty()) note_(std::move(trap));
  }
}

void LiveRun::LookAtLinks() {
  for (size_t i = 0; i < ports_.size(); ++i) {
    const Port::Link link = ports_[i]->GetLink();
    if (link == links_[i]) continue;
    links_[i] = link;
    Message(fmt::format("port {}: {}", ports_[i]->name(),
                        link == Port::Link::kUp     ? "link up"
                        : link == Port::Link::kDown ? "link down"
                                                    : "device removed"));
  }
}

void LiveRun::Tell(Clock::time_point now) {
  const LiveCounts counts = Count(ports_, loops_);
  Message(LiveLine(told_, counts, now - told_at_));
  told_ = counts;
  told_at_ = now;
  LookAtLinks();
  LookForTraps();
}

}  // namespace rocescope
