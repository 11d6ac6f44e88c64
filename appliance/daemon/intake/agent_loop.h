// SPDX-License-Identifier: BSD-3-Clause
// The thread that reads deliveries of agents, and hands over counters as records and facts as a
// whole.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "appliance/daemon/intake/agent_facts.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/pipeline/source_statistics.h"

namespace rocescope {

class AgentLoop {
 public:
  // `intake` must outlive this object. The loop's thread calls `set_facts`, rarely enough that
  // computing the facts takes at most a tenth of its time.
  AgentLoop(AgentIntake& intake, AgentFactsBuilder::NameOf name_of,
            std::function<void(AgentFacts)> set_facts,
            const AgentFactsBuilder::Limits& limits = {});

  // Runs until `stop` is set, then reads the remaining deliveries. Waits until all records are
  // taken.
  void Run(const std::atomic<bool>& stop);

  // For the only reader of records.
  RecordExchange& records() { return exchange_; }
  // Thread-safe. The ledger counts counter readings.
  SourceStatistics Statistics() const { return published_.Read(); }
  uint64_t beats() const { return published_.count(); }
  // Data of the last minutes that exceeded a limit, as sentences.
  std::vector<std::string> Problems() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool Read();
  void PublishFacts(Clock::time_point now);
  void NoticeSilence(Clock::time_point now);
  void NoticeLosses(Clock::time_point now);
  void Publish();

  AgentIntake& intake_;
  const std::function<void(AgentFacts)> set_facts_;
  AgentFactsBuilder builder_;
  bool changed_ = false;
  Clock::time_point not_before_;
  Clock::time_point silence_due_;
  // The builder's counts, and when they last increased.
  uint64_t lost_ = 0;
  Clock::time_point lost_at_;
  mutable std::mutex mutex_;  // guards the problems
  std::vector<std::string> problems_;
  RecordExchange exchange_;
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
};

}  // namespace rocescope
