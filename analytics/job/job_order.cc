// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

// More jobs on the same GPUs are not compared with each other.
constexpr size_t kMostJobs = 256;
// A host whose process IDs wrapped around between two jobs contradicts the others.
constexpr uint32_t kLeastShareOfVotes = 3;  // of 4
constexpr uint32_t kVotes = 4;

using ProcessOfGpu = std::map<std::pair<std::string, std::string>, uint64_t>;  // by host and GPU

ProcessOfGpu ProcessesOf(const Job& job) {
  ProcessOfGpu processes;
  for (const JobRank& rank : job.ranks) {
    if (rank.process_id == 0 || rank.gpu_bus_id.empty()) continue;
    processes.try_emplace({HostKey(rank.host), rank.gpu_bus_id}, rank.process_id);
  }
  return processes;
}

// Unordered: no common GPU, or contradictory process IDs.
std::partial_ordering Compare(const ProcessOfGpu& a, const ProcessOfGpu& b) {
  uint32_t less = 0;
  uint32_t greater = 0;
  for (auto at = a.begin(), other = b.begin(); at != a.end() && other != b.end();) {
    if (at->first != other->first) {
      ++(at->first < other->first ? at : other);
      continue;
    }
    less += at->second < other->second;
    greater += at->second > other->second;
    ++at;
    ++other;
  }
  const uint32_t needed = kLeastShareOfVotes * (less + greater);
  if (less + greater == 0) return std::partial_ordering::unordered;
  if (kVotes * less >= needed) return std::partial_ordering::less;
  if (kVotes * greater >= needed) return std::partial_ordering::greater;
  return std::partial_ordering::unordered;
}

}  // namespace

bool JobOrder::Sort(std::vector<uint32_t>& jobs) const {
  if (jobs.size() > kMostJobs) return false;
  std::vector<ProcessOfGpu> processes;
  for (const uint32_t job : jobs) processes.push_back(ProcessesOf(jobs_[job]));
  std::vector<size_t> earlier(jobs.size());  // number of jobs before each job
  for (size_t a = 0; a < jobs.size(); ++a) {
    for (size_t b = a + 1; b < jobs.size(); ++b) {
      const std::partial_ordering order = Compare(processes[a], processes[b]);
      if (order == std::partial_ordering::unordered) return false;
      ++earlier[order == std::partial_ordering::less ? b : a];
    }
  }
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> sorted(jobs.size(), kNone);
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (sorted[earlier[j]] != kNone) return false;  // a cycle
    sorted[earlier[j]] = jobs[j];
  }
  jobs = std::move(sorted);
  return true;
}

}  // namespace rocescope
