// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/analysis_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "appliance/common/config/byte_size.h"
#include "base/count_text.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

AnalysisLoop::AnalysisLoop(Engine& engine, std::vector<RecordExchange*> sources, Answers& answers,
                           const Options& options)
    : engine_(engine),
      answers_(answers),
      options_(options),
      taker_(std::move(sources), {.ingest = [this](const RecordBatch& batch) { Ingest(batch); },
                                  .advance = [this](Timestamp reached) { Advance(reached); }}) {}

void AnalysisLoop::Run(const std::atomic<bool>& ended) {
  constexpr auto kNap = std::chrono::milliseconds(2);
  while (true) {
    // Read this flag before the records: everything that was handed over before the end is then
    // visible.
    const bool is_last = ended.load(std::memory_order_acquire);
    const auto now = RecordTaker::Clock::now();
    beats_.fetch_add(1, std::memory_order_relaxed);
    const bool took = taker_.TakeRound(now);
    if (is_last || now >= facts_due_) TakeHostFacts(now);
    KeepWithinMemory(now);
    PublishIfDue(now);
    if (took) continue;
    if (is_last) break;
    std::this_thread::sleep_for(kNap);
  }
  Publish();
}

// Above three quarters of the budget, no further flows are analysed: the rest is for the copies of
// an answer. The same applies to counter series, except that an eighth of their maximum number is
// always allowed: without counters there is no diagnosis. What answers have used is returned to the
// system.
void AnalysisLoop::KeepWithinMemory(RecordTaker::Clock::time_point now) {
  if (now < memory_due_) return;
  constexpr auto kPace = std::chrono::milliseconds(200);
  constexpr auto kTrimPace = std::chrono::seconds(20);
  memory_due_ = now + kPace;
  if (now >= trim_due_) {
    ReturnFreeMemory();
    trim_due_ = now + kTrimPace;
  }
  const uint64_t resident = options_.resident_bytes();
  if (!is_memory_full_ && resident > options_.memory / 4 * 3) {
    is_memory_full_ = true;
    engine_.SetFlowCapacity(engine_.flows());
    const size_t series = std::max(engine_.series(), options_.series / 8);
    engine_.SetSeriesCapacity(series);
    options_.notify(
        Severity::kWarning,
        fmt::format("three quarters of the memory budget of {} are used (key `memory`): flows "
                    "beyond the present {}, and counter series beyond {}, are not analysed until "
                    "memory is free again",
                    FormatBytes(options_.memory), WithThousands(engine_.flows()),
                    WithThousands(series)));
  } else if (is_memory_full_ && resident < options_.memory / 8 * 5) {
    is_memory_full_ = false;
    engine_.SetFlowCapacity(kFlowCapacity);
    engine_.SetSeriesCapacity(options_.series);
    options_.notify(Severity::kInfo,
                    "memory is free again: new flows and counter series are analysed");
  }
}

void AnalysisLoop::Advance(Timestamp reached) {
  constexpr Duration kSetBack = std::chrono::seconds(2);
  if (reached + kSetBack < reached_ && options_.restart) Restart(reached);
  reached_ = std::max(reached_, reached);
  engine_.Advance(reached);
}

// Restarts the engine, because all of its state is in the future.
void AnalysisLoop::Restart(Timestamp reached) {
  options_.notify(
      Severity::kWarning,
      fmt::format("the clock was set back by {} s; the analysis restarts from scratch",
                  std::chrono::duration_cast<std::chrono::seconds>(reached_ - reached).count()));
  options_.restart();
  is_memory_full_ = false;
  ++restarted_;
  taps_learnt_ = 0;
  reached_ = reached;
  published_window_.reset();
}

// Facts that change all the time, for example while many jobs are registered, get at most half of
// the time.
void AnalysisLoop::TakeHostFacts(RecordTaker::Clock::time_point now) {
  if (!has_host_facts_.exchange(false, std::memory_order_acquire)) return;
  engine_.SetHostFacts(options_.host_facts());
  news_at_ = RecordTaker::Clock::now();
  facts_due_ = *news_at_ + (*news_at_ - now);
}

void AnalysisLoop::Ingest(const RecordBatch& records) {
  if (options_.taps && options_.taps->count() > taps_learnt_) {
    for (const TapLocation& place : options_.taps->PlacesFrom(taps_learnt_)) {
      engine_.LearnTap(place);
      taps_learnt_ = size_t{place.tap} + 1;
    }
  }
  engine_.Ingest(records);
  news_at_ = RecordTaker::Clock::now();
}

// Publishes when event time reaches another window, or when it stops with unpublished records.
// After a slow pass, waits as long as the pass took so that records can be processed.
void AnalysisLoop::PublishIfDue(RecordTaker::Clock::time_point now) {
  constexpr auto kStandsStill = std::chrono::seconds(1);
  if (reached_ == Timestamp{} || now < not_before_) return;
  const int64_t window = IntervalIndex(reached_, options_.window);
  const bool stands_still = news_at_ && now - *news_at_ > kStandsStill;
  if (window == published_window_ && !stands_still) return;
  published_window_ = window;
  if (stands_still) news_at_.reset();
  Publish();
  const auto after = RecordTaker::Clock::now();
  not_before_ = after + (after - now);
}

void AnalysisLoop::Publish() {
  const auto begin = RecordTaker::Clock::now();
  std::shared_ptr<const Snapshot> snapshot = engine_.Publish();
  const RecordCounts counts = options_.count_records ? options_.count_records() : RecordCounts{};
  answers_.Publish({.snapshot = std::move(snapshot),
                    .reached = reached_,
                    .published_at = WallClock(),
                    .took = RecordTaker::Clock::now() - begin,
                    .restarted = restarted_,
                    .is_memory_full = is_memory_full_,
                    .loss = loss_.Note(counts, begin)});
}

}  // namespace rocescope
