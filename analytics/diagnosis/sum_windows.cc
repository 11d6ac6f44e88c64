// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/sum_windows.h"

#include <algorithm>
#include <cstdint>

namespace rocescope {
namespace {

// A restart of one counter is a restart of all counters of the entity, even of those that do not
// show it.
void MarkUnknown(const DiagnosisInput& input, const Entity& entity, std::vector<bool>& known) {
  const auto& entities = input.parts().metrics.entities();
  const auto at = entities.find(entity);
  if (at == entities.end()) return;
  for (const auto& [metric, series] : at->second.series) {
    const auto mark = [&](int64_t window) {
      const size_t place = input.PlaceOf(window);
      if (place < known.size()) known[place] = false;
    };
    std::ranges::for_each(series.unknown(), mark);
    if (const auto open = series.open()) {
      for (int64_t window = open->first; window <= open->last; ++window) mark(window);
    }
  }
}

// Before its first reading, a counter misses what the others count.
void MarkBeginning(const DiagnosisInput& input, std::span<const Counter> counters,
                   std::vector<bool>& known) {
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
  for (const auto& [entity, metric] : counters) {
    const MetricSeries* series = input.parts().metrics.Find(entity, metric);
    if (series == nullptr) continue;
    first = std::min(first, series->first_reading());
    last = std::max(last, series->first_reading());
  }
  if (first >= last || last - first <= input.ReadingSlack()) return;
  for (size_t i = 0; i < known.size() && input.BeginOf(i) < last; ++i) known[i] = false;
}

}  // namespace

SumWindows SumWindowsOf(const DiagnosisInput& input, std::span<const Counter> counters) {
  SumWindows windows{.known = std::vector<bool>(input.windows(), true),
                     .read = std::vector<bool>(input.windows(), true)};
  MarkBeginning(input, counters, windows.known);
  std::vector<size_t> skipped(input.windows() + 1);  // the first is the window before all others
  size_t told = 0;
  for (const auto& [entity, metric] : counters) {
    MarkUnknown(input, entity, windows.known);
    const MetricSeries* series = input.parts().metrics.Find(entity, metric);
    if (series == nullptr) continue;
    ++told;
    for (const int64_t window : series->skipped()) {
      const size_t place = input.PlaceOf(window + 1);
      if (place < skipped.size()) ++skipped[place];
    }
  }
  // A window that all counters skip is valid, because the readings on both sides of it agree.
  const auto some = [&](size_t i) { return skipped[i] > 0 && skipped[i] < told; };
  std::vector<bool> read(skipped.size(), true);
  for (size_t i = 0; i < skipped.size();) {
    if (skipped[i] == 0) {
      ++i;
      continue;
    }
    size_t behind = i;
    bool differ = i == 0;  // earlier windows are not stored, and may differ
    for (; behind < skipped.size() && skipped[behind] > 0; ++behind) differ |= some(behind);
    for (; i < behind; ++i) read[i] = !differ;
  }
  // A sum cannot start within a longer step that the other counters do not share.
  bool was_known = false;
  for (size_t i = 0; i < windows.known.size(); ++i) {
    if (!was_known && !read[i]) windows.known[i] = false;
    was_known = windows.known[i];
    windows.read[i] = read[i + 1];
  }
  return windows;
}

}  // namespace rocescope
