// SPDX-License-Identifier: BSD-3-Clause
// Analysis windows and answers, summed up into minutes. Pure: the same input gives the same rows.
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

// Of links a minute is over with the first window that begins in a later one. A window that is said
// again is counted once, one of a minute that is over not at all; one longer than a minute stands
// in the minute in which it begins.
class LinkRollUp {
 public:
  explicit LinkRollUp(std::shared_ptr<const topology::Fabric> fabric);

  void Add(const LinkLoads& loads);
  // Minutes that are over, by port; with `unfinished` the one that is not over too.
  std::vector<HistoryRow> Take(bool unfinished = false);
  // The clock was set back: the minute is over, and what comes next is late of nothing.
  void Restart();
  // Windows that came when their minute was over.
  uint64_t late() const { return late_; }

 private:
  void EndMinute();
  void AddLoad(const LinkLoad& load, Duration window);

  const std::shared_ptr<const topology::Fabric> fabric_;
  int64_t minute_ = INT64_MIN;
  std::set<Timestamp> windows_;  // of the minute
  std::map<topology::PortIndex, LinkMinute> ports_;
  std::vector<HistoryRow> over_;
  uint64_t late_ = 0;
};

// Of jobs a minute is over with the first answer that has reached a later one. Bytes are what they
// have more than in the answer before; those of the first answer count as its minute's. IterationPatterns are
// found within what is kept of activity, so iterations are no differences: where a job has sent
// since the answer before, that time is so many periods long.
class JobRollUp {
 public:
  // Answers that are not later than the last one are left out and counted.
  void Add(Timestamp reached, std::span<const v1::JobSummary> jobs);
  std::vector<HistoryRow> Take(bool unfinished = false);
  // As of links; the next answer is a first one.
  void Restart();
  uint64_t late() const { return late_; }

 private:
  void AddJob(const v1::JobSummary& job, Duration since, uint64_t bytes_before);
  void EndMinute();

  Timestamp reached_;  // by the last answer
  bool has_answer_ = false;
  std::map<std::string, uint64_t> bytes_;  // of each job of the last answer
  std::map<std::string, JobMinute> jobs_;
  std::vector<HistoryRow> over_;
  uint64_t late_ = 0;
};

}  // namespace rocescope
