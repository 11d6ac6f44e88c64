// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_periods.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {
namespace {

// A period can belong to a job if at least this share of its connections can.
constexpr double kLeastShareOfSpans = 0.9;
// A gap is the start of a new job if at least this share of the paths after it were in use before.
constexpr double kLeastShareOfPaths = 0.5;

// One part in this number is a small part of the connections.
constexpr size_t kFew = 10;

// Consecutive connections of one job.
struct Period {
  Timestamp from;
  Timestamp until;
  std::vector<size_t> spans;
  std::set<uint32_t> paths;
};

void Append(Period& period, const Period& next) {
  period.until = std::max(period.until, next.until);
  period.spans.insert(period.spans.end(), next.spans.begin(), next.spans.end());
  period.paths.insert(next.paths.begin(), next.paths.end());
}

// Groups connections that overlap in time, apart from a few that last longer than the others.
std::vector<Period> Overlapping(std::span<const DataSpan> spans, std::vector<size_t> members) {
  std::ranges::sort(members, {}, [&](size_t i) { return std::pair(spans[i].from, i); });
  std::vector<Period> periods;
  std::priority_queue<Timestamp, std::vector<Timestamp>, std::greater<>>
      ends;         // ends of connections that are open
  size_t most = 0;  // greatest number of connections at one time
  for (const size_t i : members) {
    while (!ends.empty() && ends.top() < spans[i].from) ends.pop();
    const Period one = {
        .from = spans[i].from, .until = spans[i].until, .spans = {i}, .paths = {spans[i].path}};
    if (!periods.empty() && ends.size() * kFew > most) {
      Append(periods.back(), one);
    } else {
      periods.push_back(one);
      ends = {};
      most = 0;
    }
    ends.push(spans[i].until);
    most = std::max(most, ends.size());
  }
  return periods;
}

bool IsNewJob(const Period& before, const Period& after) {
  if (after.spans.size() * kFew < before.spans.size()) return false;
  const auto repeated = std::ranges::count_if(
      after.paths, [&](uint32_t path) { return before.paths.contains(path); });
  return static_cast<double>(repeated) >=
         kLeastShareOfPaths * static_cast<double>(after.paths.size());
}

std::vector<Period> PeriodsOf(std::span<const DataSpan> spans, std::vector<size_t> members) {
  std::vector<Period> periods;
  for (const Period& next : Overlapping(spans, std::move(members))) {
    if (!periods.empty() && !IsNewJob(periods.back(), next)) {
      Append(periods.back(), next);
    } else {
      periods.push_back(next);
    }
  }
  return periods;
}

class Assignment {
 public:
  Assignment(std::span<const DataSpan> spans, const std::vector<Period>& periods,
             const std::vector<uint32_t>& jobs)
      : spans_(spans), periods_(periods), jobs_(jobs) {}

  // Each period has the first or the last possible job such that jobs ascend; none: impossible.
  std::vector<size_t> First() const {
    std::vector<size_t> found;
    size_t job = 0;
    for (const Period& period : periods_) {
      while (job < jobs_.size() && !Fits(period, jobs_[job])) ++job;
      if (job == jobs_.size()) return {};
      found.push_back(job++);
    }
    return found;
  }
  std::vector<size_t> Last() const {
    std::vector<size_t> found(periods_.size());
    size_t jobs = jobs_.size();
    for (size_t p = periods_.size(); p-- > 0;) {
      while (jobs > 0 && !Fits(periods_[p], jobs_[jobs - 1])) --jobs;
      if (jobs == 0) return {};
      found[p] = --jobs;
    }
    return found;
  }

 private:
  bool Fits(const Period& period, uint32_t job) const {
    const auto fitting = std::ranges::count_if(
        period.spans, [&](size_t i) { return std::ranges::binary_search(spans_[i].jobs, job); });
    return static_cast<double>(fitting) >=
           kLeastShareOfSpans * static_cast<double>(period.spans.size());
  }

  std::span<const DataSpan> spans_;
  const std::vector<Period>& periods_;
  const std::vector<uint32_t>& jobs_;
};

// Whether the period is not over, apart from a pause between iterations.
bool LastsUntil(const Period& period, Timestamp end) {
  return end - period.until <= (period.until - period.from) / 2;
}

// Whether many connections of the period started later than the others and on the same paths, as
// those of another job do.
bool HasSecondStart(std::span<const DataSpan> spans, const Period& period) {
  std::vector<size_t> order = period.spans;
  std::ranges::sort(order, {}, [&](size_t i) { return spans[i].from; });
  size_t second = 0;  // first connection after the longest time without a start
  Duration longest = Duration::zero();
  for (size_t i = 1; i < order.size(); ++i) {
    const Duration pause = spans[order[i]].from - spans[order[i - 1]].from;
    if (pause <= longest) continue;
    longest = pause;
    second = i;
  }
  if (second == 0) return false;
  Period before;
  Period after;
  for (size_t i = 0; i < order.size(); ++i) {
    Period& part = i < second ? before : after;
    part.spans.push_back(order[i]);
    part.paths.insert(spans[order[i]].path);
  }
  return IsNewJob(before, after);
}

}  // namespace

std::vector<std::optional<SpanOwner>> OwnersOfSpans(std::span<const DataSpan> spans,
                                                    const JobOrder& order, Timestamp end) {
  std::vector<std::optional<SpanOwner>> owners(spans.size());
  uint32_t count = 0;
  for (const DataSpan& span : spans) {
    if (!span.jobs.empty()) count = std::max(count, span.jobs.back() + 1);
  }
  DisjointSets families(count);
  for (const DataSpan& span : spans) {
    for (const uint32_t job : span.jobs) families.Join(span.jobs[0], job);
  }
  std::map<uint32_t, std::pair<std::set<uint32_t>, std::vector<size_t>>> all;  // jobs and spans
  for (size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].jobs.empty()) continue;
    auto& [jobs, members] = all[families.RootOf(spans[i].jobs[0])];
    jobs.insert(spans[i].jobs.begin(), spans[i].jobs.end());
    members.push_back(i);
  }
  for (auto& [root, family] : all) {
    std::vector<uint32_t> jobs(family.first.begin(), family.first.end());
    if (jobs.size() < 2 || !order.Sort(jobs)) continue;
    const std::vector<Period> periods = PeriodsOf(spans, std::move(family.second));
    const Assignment assignment(spans, periods, jobs);
    const std::vector<size_t> first = assignment.First();
    const std::vector<size_t> last = assignment.Last();
    if (first.empty() || last.empty()) continue;
    for (size_t p = 0; p < periods.size(); ++p) {
      const SpanOwner owner = {.job = jobs[last[p]], .is_certain = first[p] == last[p]};
      if (!owner.is_certain &&
          (!LastsUntil(periods.back(), end) || HasSecondStart(spans, periods[p]))) {
        continue;
      }
      for (const size_t i : periods[p].spans) {
        if (std::ranges::binary_search(spans[i].jobs, owner.job)) owners[i] = owner;
      }
    }
  }
  return owners;
}

}  // namespace rocescope
