// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of all jobs are to be found: by number, by address. Made once, so that no
// question costs a walk over a job's ranks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/job/host_index.h"

namespace rocescope {

// A rank as statements name it: by its number in the job, or without one by its log. Neither:
// nobody knows who it is.
struct RankName {
  int rank = -1;
  int member = -1;  // index into Job::ranks; -1: it has no log

  bool IsKnown() const { return rank >= 0 || member >= 0; }
};

class JobIndex {
 public:
  enum class Fit : uint8_t { kNo, kMaybe, kYes };

  // Keeps references.
  JobIndex(const std::vector<Job>& jobs, const HostIndex& hosts);

  // With the member filled in if the rank has a log.
  RankName Complete(uint32_t job, RankName name) const;
  static RankName NameOf(const Job& job, uint32_t member);

  // Members of the job with the address, ascending.
  std::span<const uint32_t> At(uint32_t job, const IpAddress& address) const;

  // Whether the address may be one that the rank's queue pairs have.
  Fit FitOf(uint32_t job, RankName name, const IpAddress& address) const;

  // Nobody else can be at the address but those that At gives.
  bool ShowsAllAt(uint32_t job, const IpAddress& address) const;

 private:
  const std::vector<Job>& jobs_;
  const HostIndex& hosts_;
  std::vector<std::unordered_map<int, uint32_t>> member_of_rank_;  // by job
  std::map<std::pair<uint32_t, IpAddress>, std::vector<uint32_t>> at_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> unplaced_;  // members by job and host's name
};

}  // namespace rocescope
