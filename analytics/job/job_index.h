// SPDX-License-Identifier: BSD-3-Clause
// An index of the ranks of all jobs by number and by address, so that no lookup visits all ranks of
// a job.
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

// Identifies a rank by its number in the job, or by its log if it has no number. Without either,
// the rank is unknown.
struct RankName {
  int rank = -1;
  int member = -1;  // index into Job::ranks; -1: no log

  bool IsKnown() const { return rank >= 0 || member >= 0; }

  friend constexpr auto operator<=>(const RankName&, const RankName&) = default;
};

class JobIndex {
 public:
  enum class Fit : uint8_t { kNo, kMaybe, kYes };

  // Keeps references to the arguments.
  JobIndex(const std::vector<Job>& jobs, const HostIndex& hosts);

  // Returns `name`, with its `member` set if it is missing and the rank has a log.
  RankName Complete(uint32_t job, RankName name) const;
  static RankName NameOf(const Job& job, uint32_t member);

  // Members of the job with this address, ascending.
  std::span<const uint32_t> At(uint32_t job, const IpAddress& address) const;

  // Whether the rank's queue pairs can have this address.
  Fit FitOf(uint32_t job, RankName name, const IpAddress& address) const;

  // Whether no other rank than those returned by At can have the address.
  bool ShowsAllAt(uint32_t job, const IpAddress& address) const;

 private:
  const std::vector<Job>& jobs_;
  const HostIndex& hosts_;
  std::vector<std::unordered_map<int, uint32_t>> member_of_rank_;  // indexed by job
  std::map<std::pair<uint32_t, IpAddress>, std::vector<uint32_t>> at_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> unplaced_;  // members by job and host name
};

}  // namespace rocescope
