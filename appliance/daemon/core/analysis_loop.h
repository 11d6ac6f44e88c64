// SPDX-License-Identifier: BSD-3-Clause
// The thread that owns the engine: ingests the records of all sources and publishes answers at the
// end of each analysis window.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analytics/engine/engine.h"
#include "appliance/common/process/memory.h"
#include "appliance/common/process/notice.h"
#include "appliance/daemon/core/answers.h"
#include "appliance/daemon/core/record_loss.h"
#include "appliance/daemon/core/record_taker.h"
#include "base/time.h"
#include "dataplane/pipeline/tap_registry.h"

namespace rocescope {

class AnalysisLoop {
 public:
  struct Options {
    Duration window = std::chrono::seconds(1);
    std::shared_ptr<TapRegistry> taps;  // shared by the sources of the records
    std::function<void()> restart;      // recreates the engine in its initial state
    Notify notify;
    std::function<HostFacts()> host_facts;        // the present ones; called by the loop's thread
    std::function<RecordCounts()> count_records;  // in all sources; none: no record is dropped
    uint64_t memory = UINT64_MAX;                 // budget in bytes
    size_t series = SIZE_MAX;                     // maximum number of counter series
    std::function<uint64_t()> resident_bytes = ResidentBytes;
  };

  // `engine`, `sources` and `answers` must outlive this object.
  AnalysisLoop(Engine& engine, std::vector<RecordExchange*> sources, Answers& answers,
               const Options& options);

  // Runs until `ended` is set and all records are ingested, then publishes once more. `ended` may
  // be set once all sources have handed over their records.
  void Run(const std::atomic<bool>& ended);

  // Thread-safe. Requests that the loop read the host facts again before the next answer. It reads
  // them once for several requests.
  void HostFactsChanged() { has_host_facts_.store(true, std::memory_order_release); }
  // Thread-safe. Counts how often the loop polled for records. It does not increase while answers
  // are computed.
  uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }

 private:
  void TakeHostFacts(RecordTaker::Clock::time_point now);
  void Advance(Timestamp reached);
  void Restart(Timestamp reached);
  void Ingest(const RecordBatch& records);
  void PublishIfDue(RecordTaker::Clock::time_point now);
  void Publish();
  void KeepWithinMemory(RecordTaker::Clock::time_point now);

  Engine& engine_;
  Answers& answers_;
  const Options options_;
  RecordTaker taker_;
  std::atomic<bool> has_host_facts_ = false;
  RecordTaker::Clock::time_point facts_due_;
  std::atomic<uint64_t> beats_ = 0;
  size_t taps_learnt_ = 0;
  RecentLoss loss_;
  Timestamp reached_;
  uint32_t restarted_ = 0;  // number of restarts
  bool is_memory_full_ = false;
  RecordTaker::Clock::time_point memory_due_;
  RecordTaker::Clock::time_point trim_due_;
  std::optional<int64_t> published_window_;  // window of event time at the last publication
  RecordTaker::Clock::time_point not_before_;
  // Arrival of the last records; unset: published.
  std::optional<RecordTaker::Clock::time_point> news_at_;
};

}  // namespace rocescope
