// SPDX-License-Identifier: BSD-3-Clause
// The thread that owns the engine: takes records from all sources, and works answers out at the end
// of each window of analysis.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analytics/engine/engine.h"
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
    std::shared_ptr<TapRegistry> taps;  // that the records' sources share
    std::function<void()> restart;   // makes the engine as it was in the beginning
    std::function<void(const std::string&)> tell;
    std::function<RecordCounts()> count_records;  // of all sources; none: nothing is given up
  };

  // `engine`, `sources` and `answers` must outlive it.
  AnalysisLoop(Engine& engine, std::vector<RecordExchange*> sources, Answers& answers,
               const Options& options);

  // Until `ended` is set, which it may be once all sources have handed over all they had, and all
  // of that is taken. Publishes once more then.
  void Run(const std::atomic<bool>& ended);

  // Any thread: what hosts say, from the next answer on.
  void SetHostFacts(HostFacts facts);
  // Any thread: how often it has looked for records, which it does not while it works answers out.
  uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }

 private:
  void TakeHostFacts();
  void Advance(Timestamp reached);
  void Restart(Timestamp reached);
  void Ingest(const RecordBatch& records);
  void PublishIfDue(RecordTaker::Clock::time_point now);
  void Publish();

  Engine& engine_;
  Answers& answers_;
  const Options options_;
  RecordTaker taker_;
  std::mutex mutex_;  // of the next two
  std::optional<HostFacts> host_facts_;
  std::atomic<bool> has_host_facts_ = false;
  std::atomic<uint64_t> beats_ = 0;
  size_t taps_learnt_ = 0;
  RecentLoss loss_;
  Timestamp reached_;
  uint32_t restarted_ = 0;                  // times
  std::optional<int64_t> published_window_;  // in which event time was when answers came out last
  RecordTaker::Clock::time_point not_before_;
  std::optional<RecordTaker::Clock::time_point> news_at_;  // the last records came; unset: told
};

}  // namespace rocescope
