// SPDX-License-Identifier: BSD-3-Clause
// The thread that scrapes each exporter at its interval and produces records.
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
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/pipeline/source_statistics.h"

namespace rocescope {

class ScrapeLoop {
 public:
  // The error names a target with an invalid URL.
  static Result<std::unique_ptr<ScrapeLoop>> Make(const ScrapeConfig& config);

  // Runs until `stop` is set. Waits until all records are taken.
  void Run(const std::atomic<bool>& stop);

  // For the only reader of records.
  RecordExchange& records() { return exchange_; }
  // Thread-safe. The ledger counts samples: decoded, filtered (no matching rule) and malformed
  // lines.
  SourceStatistics Statistics() const { return published_.Read(); }
  uint64_t beats() const { return published_.count(); }
  // The targets whose last scrape failed, as sentences.
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
  mutable std::mutex mutex_;  // guards the targets' problems
  RecordExchange exchange_;
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
};

}  // namespace rocescope
