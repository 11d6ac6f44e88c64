// SPDX-License-Identifier: BSD-3-Clause
// The files that the program writes for its host: nccl/HOST.log, rdma/HOST.json,
// endpoint/HOST.jsonl and endpoint/HOST.prom. README.md describes them.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "testbeds/ovs_lab/endpoint/host.h"
#include "testbeds/ovs_lab/endpoint/host_logs.h"

namespace rocescope::endpoint {

// The kernel's counters of a network interface.
struct InterfaceCounters {
  uint64_t rx_bytes = 0;
  uint64_t rx_packets = 0;
  uint64_t rx_errors = 0;
  uint64_t rx_discards = 0;
  uint64_t tx_bytes = 0;
  uint64_t tx_packets = 0;
  uint64_t tx_errors = 0;
  uint64_t tx_discards = 0;
};

class Reports final : public HostObserver {
 public:
  // Creates the folders, and replaces files of an earlier start.
  static Result<std::unique_ptr<Reports>> Open(const LabPlan& plan, topology::NodeIndex host,
                                               const std::string& directory);

  void JobStarted(const Job& job) override;
  void IterationFinished(const Job& job, uint32_t iteration, Timestamp begin,
                         Timestamp end) override;
  void JobFinished(const Job& job) override;
  void JobFailed(const Job& job, const JobFailure& failure) override;

  struct NicReport {
    topology::NicIndex nic = 0;
    Counters counters;
    InterfaceCounters interface;
    bool up = false;
  };
  // Replaces endpoint/HOST.prom.
  void WriteCounters(const std::vector<NicReport>& nics);
  // Writes the last line of endpoint/HOST.jsonl.
  void Finish(const std::vector<NicReport>& nics, Timestamp now);
  void SetTime(Timestamp now) { now_ = now; }

  // The first error of any write.
  const Status& status() const { return status_; }

 private:
  Reports(const LabPlan& plan, topology::NodeIndex host, const std::string& directory);
  Status MakeFolders();
  void Append(const std::string& path, std::string_view text);
  void Replace(const std::string& path, std::string_view text);
  void Note(const Status& status);
  const sim::LoggedJob& Logged(const Job& job);

  const LabPlan& plan_;
  const topology::NodeIndex host_;
  const std::string directory_;
  const std::string nccl_;
  const std::string rdma_;
  const std::string lines_;
  const std::string prometheus_;
  std::vector<sim::LoggedJob> started_;
  Timestamp now_{};
  Status status_;
};

}  // namespace rocescope::endpoint
