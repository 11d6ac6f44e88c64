// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/counter_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/count_text.h"

namespace rocescope {
namespace {

void AddNote(const OddReadings& odd, std::string_view what, std::vector<std::string>& notes) {
  if (odd.count == 0) return;
  notes.push_back(
      fmt::format("{} {} (first: {})", Counted(odd.count, "counter value"), what, odd.example));
}

void AddImpossible(const ReadingProblem& trouble, std::vector<std::string>& notes) {
  constexpr size_t kMaxMetrics = 4;
  std::vector<size_t> metrics;
  for (size_t i = 0; i < kMetricCount; ++i) {
    if (trouble.impossible[i].count > 0) metrics.push_back(i);
  }
  std::ranges::sort(metrics, {}, [&](size_t metric) {
    return std::pair(UINT64_MAX - trouble.impossible[metric].count, metric);
  });
  uint64_t rest = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const OddReadings& odd = trouble.impossible[metrics[i]];
    if (i >= kMaxMetrics) {
      rest += odd.count;
      continue;
    }
    notes.push_back(fmt::format("{} of {} were implausible and ignored (first: {})",
                                Counted(odd.count, "value"), kMetrics[metrics[i]].name,
                                odd.example));
  }
  if (rest > 0) {
    notes.push_back(fmt::format("{} of {} were implausible and ignored", Counted(rest, "value"),
                                Counted(metrics.size() - kMaxMetrics, "other metric")));
  }
}

}  // namespace

std::vector<std::string> NotesOnCounters(const ReadingProblem& trouble,
                                         const DiagnosisCoverage& coverage) {
  std::vector<std::string> notes;
  AddNote(trouble.unknown, "for ports and devices that are not in the topology were ignored",
          notes);
  AddNote(trouble.strayed, "with outlying timestamps were ignored", notes);
  AddNote(trouble.late, "older than values already received were ignored", notes);
  AddNote(trouble.backwards,
          "decreased (counter reset); the increments between the readings are unknown", notes);
  AddImpossible(trouble, notes);
  if (coverage.no_window) {
    notes.push_back(
        "counters were read only once, or their readings are more than 256 windows apart, so no "
        "rates can be computed");
  }
  if (coverage.links_counted > 0 && coverage.links_counted < coverage.links) {
    notes.push_back(
        fmt::format("packet counters can detect silent loss on {} of {} links only; those of the "
                    "other links are not polled at both ends",
                    WithThousands(coverage.links_counted), WithThousands(coverage.links)));
  }
  return notes;
}

}  // namespace rocescope
