// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/sum_windows.h"

#include <algorithm>
#include <cstdint>

namespace rocescope {
namespace {

// Whoever set one counter back has set back those too that were small enough not to show it.
void MarkUnknown(const Scene& scene, const Entity& entity, std::vector<bool>& known) {
  const auto& entities = scene.parts().metrics.entities();
  const auto at = entities.find(entity);
  if (at == entities.end()) return;
  for (const auto& [metric, series] : at->second.series) {
    for (const int64_t window : series.unknown()) {
      const size_t place = scene.PlaceOf(window);
      if (place < known.size()) known[place] = false;
    }
  }
}

// Before the last one's first reading the others count what that one does not.
void MarkBeginning(const Scene& scene, std::span<const Counter> counters,
                   std::vector<bool>& known) {
  Timestamp first = Timestamp::max();
  Timestamp last = Timestamp::min();
  for (const auto& [entity, metric] : counters) {
    const MetricSeries* series = scene.parts().metrics.Find(entity, metric);
    if (series == nullptr) continue;
    first = std::min(first, series->first_reading());
    last = std::max(last, series->first_reading());
  }
  if (first >= last || last - first <= scene.ReadingSlack()) return;
  for (size_t i = 0; i < known.size() && scene.BeginOf(i) < last; ++i) known[i] = false;
}

}  // namespace

SumWindows SumWindowsOf(const Scene& scene, std::span<const Counter> counters) {
  SumWindows windows{.known = std::vector<bool>(scene.windows(), true),
                     .read = std::vector<bool>(scene.windows(), true)};
  MarkBeginning(scene, counters, windows.known);
  std::vector<size_t> skipped(scene.windows());
  size_t told = 0;
  for (const auto& [entity, metric] : counters) {
    MarkUnknown(scene, entity, windows.known);
    const MetricSeries* series = scene.parts().metrics.Find(entity, metric);
    if (series == nullptr) continue;
    ++told;
    for (const int64_t window : series->skipped()) {
      const size_t place = scene.PlaceOf(window);
      if (place < skipped.size()) ++skipped[place];
    }
  }
  // A window that all skip is as good as the readings on both sides of it.
  const auto some = [&](size_t i) { return skipped[i] > 0 && skipped[i] < told; };
  for (size_t i = 0; i < skipped.size();) {
    if (skipped[i] == 0) {
      ++i;
      continue;
    }
    size_t behind = i;
    bool differ = false;
    for (; behind < skipped.size() && skipped[behind] > 0; ++behind) differ |= some(behind);
    for (; i < behind; ++i) windows.read[i] = !differ;
  }
  // Nor does a sum begin in the middle of a step that the others do not share.
  for (size_t i = 1; i < windows.known.size(); ++i) {
    if (!windows.known[i - 1] && !windows.read[i - 1]) windows.known[i] = false;
  }
  return windows;
}

}  // namespace rocescope
