// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/job_slowdown.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rocescope {
namespace {

// An evaluation or a checkpoint makes single iterations longer.
constexpr size_t kFewestIterations = 3;
// Multiple of the longest iteration before: after this time without a complete iteration, the job
// does not only have one more evaluation.
constexpr int kLongestPauses = 2;

// `durations` is not empty.
Duration MedianOf(std::vector<Duration> durations) {
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  return *middle;
}

std::vector<Duration> Before(const JobIterationPattern& pattern, Timestamp from) {
  std::vector<Duration> durations;
  for (const IterationSpan& span : pattern.spans) {
    if (span.end <= from) durations.push_back(span.end - span.begin);
  }
  return durations;
}

}  // namespace

bool IsSlower(const JobIterationPattern& pattern, Timestamp from, std::optional<Timestamp> until) {
  const std::vector<Duration> before = Before(pattern, from);
  std::vector<Duration> during;
  for (const IterationSpan& span : pattern.spans) {
    if (span.end > from && (!until || span.begin < *until)) during.push_back(span.end - span.begin);
  }
  if (before.size() < kFewestIterations || during.size() < kFewestIterations) return false;
  return static_cast<double>(MedianOf(during).count()) >=
         kSlowerIterations * static_cast<double>(MedianOf(before).count());
}

bool HasStopped(const JobIterationPattern& pattern, Timestamp from, Timestamp now) {
  std::vector<Duration> before = Before(pattern, from);
  if (before.empty()) return false;
  const Duration longest = *std::ranges::max_element(before);
  const Timestamp last = pattern.spans.back().end;
  return last >= from - longest && last <= from + kLongestPauses * longest &&
         now - last > (kLongestPauses + 1) * longest;
}

}  // namespace rocescope
