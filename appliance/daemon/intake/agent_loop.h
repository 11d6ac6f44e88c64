// SPDX-License-Identifier: BSD-3-Clause
// A thread's work: reads what agents said, hands counters over as records and facts as a whole.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "appliance/daemon/intake/agent_facts.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"

namespace rocescope {

class AgentLoop {
 public:
  // `intake` must outlive it. `set_facts` is called by the loop's thread, seldom enough that
  // working the facts out takes a tenth of its time.
  AgentLoop(AgentIntake& intake, AgentFactsBuilder::NameOf name_of,
            std::function<void(AgentFacts)> set_facts);

  // Until `stop` is set; reads what is there then. Hands over all records, for which it waits.
  void Run(const std::atomic<bool>& stop);

  // The one thread that reads records, any time.
  RecordExchange& records() { return exchange_; }
  // Any thread, any time. The ledger is of counters' readings.
  SourceStatistics Statistics() const { return published_.Read(); }
  uint64_t beats() const { return published_.count(); }
  // What of the last minutes found no room among the facts, as sentences.
  std::vector<std::string> Problems() const;

 private:
  using Clock = std::chrono::steady_clock;
  bool Read();
  void TellFacts(Clock::time_point now);
  void NoticeSilence(Clock::time_point now);
  void NoticeLosses(Clock::time_point now);
  void Publish();

  AgentIntake& intake_;
  const std::function<void(AgentFacts)> set_facts_;
  AgentFactsBuilder builder_;
  bool changed_ = false;
  Clock::time_point not_before_;
  Clock::time_point silence_due_;
  // Of the builder's counts, and when these last grew.
  uint64_t lost_ = 0;
  Clock::time_point lost_at_;
  mutable std::mutex mutex_;  // of the troubles
  std::vector<std::string> problems_;
  RecordExchange exchange_;
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
};

}  // namespace rocescope
