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
      fmt::format("{} {} (the first: {})", Counted(odd.count, "counter value"), what, odd.example));
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
    notes.push_back(fmt::format("{} of {}: impossible, and left out (the first: {})",
                                Counted(odd.count, "value"), kMetrics[metrics[i]].name,
                                odd.example));
  }
  if (rest > 0) {
    notes.push_back(fmt::format("{} of {}: impossible, and left out", Counted(rest, "value"),
                                Counted(metrics.size() - kMaxMetrics, "other metric")));
  }
}

}  // namespace

std::vector<std::string> NotesOnCounters(const ReadingProblem& trouble,
                                         const DiagnosisCoverage& coverage) {
  std::vector<std::string> notes;
  AddNote(trouble.unknown, "of ports and devices that the topology does not have: left out", notes);
  AddNote(trouble.strayed, "of times far from all others': left out", notes);
  AddNote(trouble.late, "out of order, behind later ones: left out", notes);
  AddNote(trouble.backwards, "below those before: what these counters did meanwhile is not known",
          notes);
  AddImpossible(trouble, notes);
  if (coverage.no_window) {
    notes.push_back("all counters are of one moment: they tell of no time");
  }
  if (coverage.windows_before > 0) {
    notes.push_back(fmt::format(
        "faults were looked for in the last {} of {} windows: of those that were over before "
        "nothing is said; --window makes them longer, --until looks at an earlier part",
        WithThousands(coverage.windows),
        WithThousands(coverage.windows_before + coverage.windows)));
  }
  if (coverage.links_balanced > 0 && coverage.links_balanced < coverage.links) {
    notes.push_back(fmt::format(
        "frames sent and received can be compared on {} of {} links: of the others, whose ends are "
        "not read at one moment or not both, counters show no silent loss",
        WithThousands(coverage.links_balanced), WithThousands(coverage.links)));
  }
  return notes;
}

}  // namespace rocescope
