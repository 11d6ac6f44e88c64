// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/allocation_match.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "analytics/job/allocation_jobs.h"
#include "analytics/job/job_order.h"

namespace rocescope {
namespace {

// Sorts allocations by time. Returns false if two of them may have held nodes at the same time.
bool SortByTime(const std::vector<Allocation>& all, std::vector<uint32_t>& allocations) {
  constexpr Duration kRounding = std::chrono::seconds(1);  // Slurm's times are in whole seconds
  const auto has_start = [&](uint32_t a) { return all[a].start.has_value(); };
  if (!std::ranges::all_of(allocations, has_start)) return false;
  const auto end_of = [&](uint32_t a) {
    const bool has_ended = all[a].state == AllocationState::kEnded && all[a].end;
    return has_ended ? *all[a].end : Timestamp::max();
  };
  std::ranges::sort(allocations, {},
                    [&](uint32_t a) { return std::tuple(*all[a].start, end_of(a), all[a].id); });
  return std::ranges::adjacent_find(allocations, [&](uint32_t a, uint32_t b) {
           return *all[b].start + kRounding < end_of(a);
         }) == allocations.end();
}

class Matcher {
 public:
  Matcher(const HostFacts& facts, const AllocationIndex& index,
          const std::vector<std::optional<SeenTime>>& seen, std::vector<Job>& jobs)
      : facts_(facts), index_(index), seen_(seen), jobs_(jobs), order_(jobs) {}

  void Run() {
    for (size_t j = 0; j < jobs_.size(); ++j) {
      found_.push_back(index_.Of(jobs_[j], seen_[j]));
      const std::vector<uint32_t> any = seen_[j] ? index_.Of(jobs_[j], {}).all : found_[j].all;
      if (any.size() > 1) on_same_hosts_[any].push_back(static_cast<uint32_t>(j));
    }
    for (const auto& [allocations, jobs] : on_same_hosts_) MatchInOrder(allocations, jobs);
    std::map<uint32_t, size_t> jobs_of;  // number of jobs by allocation
    for (const AllocationsOfJob& found : found_) {
      if (const auto allocation = found.Preferred()) ++jobs_of[*allocation];
    }
    for (size_t j = 0; j < jobs_.size(); ++j) {
      const AllocationsOfJob& found = found_[j];
      const std::optional<uint32_t> allocation = found.Preferred();
      const bool is_doubtful = allocation && !seen_[j] && found.all.size() > 1;
      if (allocation && !(is_doubtful && jobs_of[*allocation] > 1)) {
        jobs_[j].allocation = ToJobAllocation(facts_.allocations[*allocation]);
      } else if (found.all.size() > 1) {
        jobs_[j].notes.push_back(index_.NoteOn(is_doubtful ? found.all : found.preferred));
      }
    }
  }

 private:
  // If there are as many jobs as allocations, each allocation has one. Otherwise a job has an
  // allocation if the jobs before and after it leave no other.
  void MatchInOrder(std::vector<uint32_t> allocations, std::vector<uint32_t> jobs) {
    if (jobs.size() < 2 || !SortByTime(facts_.allocations, allocations) || !order_.Sort(jobs)) {
      return;
    }
    if (jobs.size() == allocations.size() && Fit(allocations, jobs)) {
      for (size_t i = 0; i < jobs.size(); ++i) Set(jobs[i], allocations[i]);
      return;
    }
    std::vector<size_t> first(jobs.size());
    std::vector<size_t> last(jobs.size(), allocations.size() - 1);
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (i > 0) first[i] = first[i - 1];
      while (first[i] < allocations.size() && !Fits(jobs[i], allocations[first[i]])) ++first[i];
      if (first[i] == allocations.size()) return;
    }
    for (size_t i = jobs.size(); i-- > 0;) {
      if (i + 1 < jobs.size()) last[i] = last[i + 1];
      while (last[i] > first[i] && !Fits(jobs[i], allocations[last[i]])) --last[i];
    }
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (first[i] == last[i]) Set(jobs[i], allocations[first[i]]);
    }
  }

  bool Fits(uint32_t job, uint32_t allocation) const {
    return std::ranges::binary_search(found_[job].all, allocation);
  }
  bool Fit(const std::vector<uint32_t>& allocations, const std::vector<uint32_t>& jobs) const {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (!Fits(jobs[i], allocations[i])) return false;
    }
    return true;
  }
  void Set(uint32_t job, uint32_t allocation) {
    found_[job] = {.all = {allocation}, .preferred = {allocation}};
  }

  const HostFacts& facts_;
  const AllocationIndex& index_;
  const std::vector<std::optional<SeenTime>>& seen_;
  std::vector<Job>& jobs_;
  JobOrder order_;
  std::vector<AllocationsOfJob> found_;  // indexed by job
  // Jobs by the allocations of their hosts at any time.
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> on_same_hosts_;
};

}  // namespace

void MatchAllocations(const HostFacts& facts, const AllocationIndex& index,
                      const std::vector<std::optional<SeenTime>>& seen, std::vector<Job>& jobs) {
  if (!index.empty()) Matcher(facts, index, seen, jobs).Run();
}

}  // namespace rocescope
