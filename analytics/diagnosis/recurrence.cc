// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/recurrence.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace rocescope {
namespace {

// Adds the values of `more` that `all` does not have. Both are in ascending order.
template <typename T>
void AddMissing(std::vector<T>& all, const std::vector<T>& more) {
  std::vector<T> sum;
  std::ranges::set_union(all, more, std::back_inserter(sum));
  all = std::move(sum);
}

void Join(Finding& first, Finding next) {
  const bool has_pause = first.until && *first.until < next.from;
  first.times += has_pause ? next.times : next.times - 1;
  const bool is_over = first.until && next.until;
  first.until = is_over ? std::optional(std::max(*first.until, *next.until)) : std::nullopt;
  first.detected_at = std::min(first.detected_at, next.detected_at);
  AddMissing(first.culprits, next.culprits);
  AddMissing(first.affected_jobs, next.affected_jobs);
  AddMissing(first.exposed_jobs, next.exposed_jobs);
  std::erase_if(first.exposed_jobs,
                [&](uint32_t job) { return std::ranges::binary_search(first.affected_jobs, job); });
  for (Suspect& symptom : next.symptoms) {
    const auto is_same = [&](const Suspect& one) {
      return one.kind == symptom.kind && one.place == symptom.place;
    };
    if (std::ranges::none_of(first.symptoms, is_same)) first.symptoms.push_back(symptom);
  }
  if (next.confidence < first.confidence) return;
  first.basis = next.basis;
  first.confidence = next.confidence;
  first.uncalibrated = next.uncalibrated;
  first.detector = next.detector;
  first.alternatives = std::move(next.alternatives);
  first.evidence = std::move(next.evidence);
  first.further = std::move(next.further);
  if (!next.loop.empty()) first.loop = std::move(next.loop);
}

}  // namespace

Findings JoinRecurring(Findings findings) {
  Findings joined;
  std::map<std::pair<FaultKind, Place>, size_t> last;  // indices into `joined`
  for (Finding& finding : findings) {
    const auto [at, is_new] = last.try_emplace({finding.kind, finding.place}, joined.size());
    if (!is_new) {
      Finding& before = joined[at->second];
      if (!before.until || finding.from <= *before.until + kLongestPause) {
        Join(before, std::move(finding));
        continue;
      }
      at->second = joined.size();
    }
    joined.push_back(std::move(finding));
  }
  return joined;
}

}  // namespace rocescope
