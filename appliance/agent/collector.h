// SPDX-License-Identifier: BSD-3-Clause
// Reads each data source of the host at its interval and appends batches with the new data.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "appliance/agent/batch_buffer.h"
#include "appliance/agent/log_tail.h"
#include "appliance/common/config/agent_config.h"
#include "appliance/common/scrape/http_fetch.h"
#include "appliance/common/scrape/metric_rules.h"
#include "base/result.h"
#include "base/time.h"
#include "dataplane/host/rdma_resource.h"

namespace rocescope {

namespace v1 {
class AgentBatch;
class EntityCounters;
class HostInventory;
}  // namespace v1

class Collector {
 public:
  using Clock = std::chrono::steady_clock;
  using ReadQueuePairs = std::function<Result<std::vector<RdmaQueuePair>>()>;

  // Checks that all exporter URLs refer to this host. The error names the offending URL.
  static Status Check(const AgentConfig& config);
  // Returns a warning for each setting with files, patterns or interfaces that match nothing at
  // present. They may appear later.
  static std::vector<std::string> MissingSources(const AgentConfig& config);

  // `config` must have passed Check, and `buffer` must outlive this object. `read_queue_pairs` is
  // ReadKernelQueuePairs, except in tests.
  Collector(const AgentConfig& config, BatchBuffer& buffer, ReadQueuePairs read_queue_pairs);

  // Reads all sources that are due. Call it again no later than the time it returns.
  Clock::time_point Look(Clock::time_point now, Timestamp wall);

  const LogTail::Counts& logs() const { return tail_.counts(); }
  // Problems of the last pass: one message for each source that cannot be read.
  std::vector<std::string> Problems() const;

 private:
  struct Exporter {
    std::string url;
    HttpUrl where;
    bool under_way = false;
    std::string trouble;
  };

  bool ReadLogs(Timestamp wall);
  void TellState(Timestamp wall);
  void TellProcesses(const std::vector<RdmaQueuePair>& queue_pairs, Timestamp wall);
  void TellCounters(Timestamp wall);
  void AskExporters();
  void ReadMetrics(const std::string& text, Timestamp wall);
  void Tell(BatchKind kind, v1::AgentBatch& batch, Timestamp wall);
  // Appends the batch only if it differs from the previous one of its kind.
  void TellIfNew(BatchKind kind, v1::AgentBatch& batch, Timestamp wall);

  const AgentConfig config_;
  BatchBuffer& buffer_;
  const ReadQueuePairs read_queue_pairs_;
  const MetricRules rules_;
  LogTail tail_;
  HttpFetcher fetcher_;
  std::vector<Exporter> exporters_;
  std::map<BatchKind, std::string> told_;  // the last reported state of each kind
  Clock::time_point logs_due_;
  Clock::time_point state_due_;
  Clock::time_point counters_due_;
  bool all_read_ = false;  // the last pass reached the end of all logs
  bool caught_up_ = false;
  // The current problem of each source; empty: none.
  std::string queue_pair_problem_;
  std::string process_problem_;
  std::map<std::string, std::string> file_problems_;
};

}  // namespace rocescope
