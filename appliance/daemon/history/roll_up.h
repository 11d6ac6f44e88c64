// SPDX-License-Identifier: BSD-3-Clause
// Aggregates analysis windows and snapshots into minutes. Pure: the same input gives the same rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analytics/congestion/link_load.h"
#include "appliance/daemon/history/rows.h"
#include "base/time.h"

namespace rocescope {

namespace v1 {
class JobSummary;
}

// Aggregation of links. A minute is complete when the first window of a later minute arrives. A
// repeated window counts once; a window of a completed minute does not count. A window longer than
// a minute counts in the minute in which it starts.
class LinkRollUp {
 public:
  explicit LinkRollUp(std::shared_ptr<const topology::Fabric> fabric);

  void Add(const LinkLoads& loads);
  // Returns completed minutes, ordered by port; with `unfinished` also the current minute.
  std::vector<HistoryRow> Take(bool unfinished = false);
  // Completes the current minute because the clock was set back. Later windows are not considered
  // late.
  void Restart();
  // Number of windows that arrived after their minute was complete.
  uint64_t late() const { return late_; }

 private:
  void EndMinute();
  void AddLoad(const LinkLoad& load, Duration window);

  const std::shared_ptr<const topology::Fabric> fabric_;
  int64_t minute_ = INT64_MIN;
  std::set<Timestamp> windows_;  // windows of the current minute
  std::map<topology::PortIndex, LinkMinute> ports_;
  std::vector<HistoryRow> over_;
  uint64_t late_ = 0;
};

// Aggregation of jobs. A minute is complete when the first snapshot of a later minute arrives.
// Bytes are the increase since the previous snapshot; the bytes of the first snapshot count in its
// minute. The number of iterations is estimated: if a job has sent since the previous snapshot, the
// time in between is divided by its period.
class JobRollUp {
 public:
  // Adds a snapshot. One that is not later than the previous one is left out and counted.
  void Add(Timestamp reached, std::span<const v1::JobSummary> jobs);
  std::vector<HistoryRow> Take(bool unfinished = false);
  // Completes the current minute because the clock was set back; the next snapshot is a first one.
  void Restart();
  uint64_t late() const { return late_; }

 private:
  void AddJob(const v1::JobSummary& job, Duration since, uint64_t bytes_before);
  void EndMinute();

  Timestamp reached_;  // event time of the last snapshot
  bool has_answer_ = false;
  std::map<std::string, uint64_t> bytes_;  // bytes of each job in the last snapshot
  std::map<std::string, JobMinute> jobs_;
  std::vector<HistoryRow> over_;
  uint64_t late_ = 0;
};

}  // namespace rocescope
