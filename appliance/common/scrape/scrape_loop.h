// SPDX-License-Identifier: BSD-3-Clause
// A thread's work: asks exporters for their metrics, each in its period, and makes records of them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "appliance/common/config/config.h"
#include "appliance/common/scrape/http_fetch.h"
#include "appliance/common/scrape/metric_rules.h"
#include "base/result.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"

namespace rocescope {

class ScrapeLoop {
 public:
  // The error names the target whose URL is none.
  static Result<std::unique_ptr<ScrapeLoop>> Make(const ScrapeConfig& config);

  // Until `stop` is set; hands over all records, for which it waits.
  void Run(const std::atomic<bool>& stop);

  // The one thread that reads records, any time.
  RecordExchange& records() { return exchange_; }
  // Any thread, any time. The ledger is of samples: decoded, filtered (no rule is about them), and
  // lines that are none.
  SourceStatistics Statistics() const { return published_.Read(); }
  uint64_t beats() const { return published_.count(); }
  // Targets that did not answer the last time, as sentences.
  std::vector<std::string> Problems() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Target {
    ScrapeTarget config;
    HttpUrl url;
    Clock::time_point due;
    bool under_way = false;
    std::string trouble;
  };

  explicit ScrapeLoop(const ScrapeConfig& config);
  void AskThoseDue();
  void Take(Target& target, const Result<std::string>& answer);
  void Read(const Target& target, const std::string& text);

  const MetricRules rules_;
  HttpFetcher fetcher_;
  std::vector<Target> targets_;
  mutable std::mutex mutex_;  // of the targets' troubles
  RecordExchange exchange_;
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
};

}  // namespace rocescope
