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
#include "appliance/common/scrape/foreign_nodes.h"
#include "appliance/common/scrape/http_fetch.h"
#include "appliance/common/scrape/metric_rules.h"
#include "base/result.h"
#include "dataplane/pipeline/published.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/pipeline/source_statistics.h"

namespace rocescope {

class ScrapeLoop {
 public:
  // `most_bytes`: maximum size in bytes of all responses in progress, as for HttpFetcher. The error
  // names a target with an invalid URL.
  static Result<std::unique_ptr<ScrapeLoop>> Make(const ScrapeConfig& config,
                                                  size_t most_bytes = HttpFetcher::kLargestBody);

  // Runs until `stop` is set. Waits until all records are taken.
  void Run(const std::atomic<bool>& stop);

  // For the only reader of records.
  RecordExchange& records() { return exchange_; }
  // Thread-safe. The ledger counts samples: decoded, filtered (no matching rule), of foreign nodes,
  // and malformed lines.
  SourceStatistics Statistics() const { return published_.Read(); }
  uint64_t beats() const { return published_.count(); }
  // The targets whose last scrape failed, as sentences.
  std::vector<std::string> Problems() const;
  // The targets that had samples of other nodes than their configured one since the start.
  std::vector<ForeignNodes> Foreign() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Target {
    ScrapeTarget config;
    HttpUrl url;
    Clock::time_point due;
    bool under_way = false;
    std::string trouble;
    ForeignNodes foreign;
  };

  ScrapeLoop(const ScrapeConfig& config, size_t most_bytes);
  void AskThoseDue();
  void Take(Target& target, const Result<std::string>& answer);
  void Read(Target& target, const std::string& text);
  // Returns false if the target may not report for the node of the record.
  bool Admit(Target& target, CounterRecord& record, Timestamp now);

  const MetricRules rules_;
  HttpFetcher fetcher_;
  std::vector<Target> targets_;
  mutable std::mutex mutex_;  // guards the targets' problems and foreign nodes
  RecordExchange exchange_;
  SourceStatistics statistics_;
  Published<SourceStatistics> published_;
};

}  // namespace rocescope
