// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/job_slowdown.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace rocescope {
namespace {

// Fewer iterations prove nothing: an evaluation or a checkpoint makes single iterations longer.
constexpr size_t kFewestIterations = 3;
// In multiples of the longest iteration before the fault. A job that stops completes its last
// iteration at most this long after the start of the fault, and then none for one multiple more.
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

// Whether the durations of `during` are longer than those of `before` by more than chance explains:
// the normal approximation of the Wilcoxon rank-sum test, one-sided.
bool AreLonger(std::span<const Duration> before, std::span<const Duration> during) {
  constexpr double kDeviations = 2.33;  // 1 % of equal workloads look slower
  double longer = 0;
  for (const Duration a : before) {
    for (const Duration b : during) longer += b > a ? 1 : (b == a ? 0.5 : 0);
  }
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(during.size());
  return longer - n * m / 2 >= kDeviations * std::sqrt(n * m * (n + m + 1) / 12);
}

// The iterations next to the start of the fault. Others may differ for other reasons.
constexpr size_t kNext = 32;

}  // namespace

bool IsSlower(const JobIterationPattern& pattern, Timestamp from, std::optional<Timestamp> until) {
  const std::vector<Duration> before = Before(pattern, from);
  std::vector<Duration> during;
  for (const IterationSpan& span : pattern.spans) {
    if (span.end > from && (!until || span.begin < *until)) during.push_back(span.end - span.begin);
  }
  if (before.size() < kFewestIterations || during.size() < kFewestIterations) return false;
  const double ratio =
      static_cast<double>(MedianOf(during).count()) / static_cast<double>(MedianOf(before).count());
  if (ratio >= kSlowerIterations) return true;
  return ratio >= kSurelySlowerIterations &&
         AreLonger(std::span(before).last(std::min(before.size(), kNext)),
                   std::span(during).first(std::min(during.size(), kNext)));
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
