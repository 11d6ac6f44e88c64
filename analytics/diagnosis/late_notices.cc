// SPDX-License-Identifier: BSD-3-Clause
// Notifications that wait: strict priority lets one frame go before them at most.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/notice_queue.h"
#include "base/count_text.h"

namespace rocescope {

using topology::NodeIndex;

namespace {

// Windows in which even the quickest packet took longer on that way than it did: then it is the way
// that makes notifications late.
std::set<int64_t> LongerWindows(const Delays& delays, DelayKey key) {
  constexpr int64_t kLonger = 700;  // ns: two frames of 4 kB at 100 Gb/s
  key.kind = DelayKind::kTransit;
  std::set<int64_t> longer;
  const auto at = delays.find(key);
  if (at == delays.end()) return longer;
  const int64_t quickest = std::ranges::min(at->second, {}, &DelayWindow::least).least;
  for (const DelayWindow& window : at->second) {
    if (window.least > quickest + kLonger) longer.insert(window.window);
  }
  return longer;
}

}  // namespace

void DetectLateNotices(const Scene& scene, Findings& found) {
  struct Late {
    std::map<size_t, uint32_t> by_window;
    uint32_t packets = 0;
    uint32_t of = 0;
    size_t first = SIZE_MAX;
    size_t last = 0;
    size_t verdict = SIZE_MAX;
    uint64_t queued = 0;  // by INT
  };
  constexpr uint32_t kEnough = 3;
  std::map<NodeIndex, Late> late;
  for (const auto& [key, windows] : scene.parts().delays) {
    if (key.kind != DelayKind::kNotice || key.hops > 2) continue;
    Late& at = late[key.from];
    const std::set<int64_t> longer = LongerWindows(scene.parts().delays, key);
    for (const DelayWindow& window : windows) {
      const size_t place = scene.PlaceOf(window.window);
      if (longer.contains(window.window)) continue;
      at.of += window.count;
      if (window.late == 0 || place >= scene.windows()) continue;
      at.by_window[place] += window.late;
      at.packets += window.late;
      at.first = std::min(at.first, place);
      at.last = std::max(at.last, place);
    }
  }
  // Where all switches put them among data, that is how the fabric is meant.
  const auto& queues = scene.parts().queue_uses;
  const auto apart = std::ranges::count_if(queues, [](const auto& entry) {
    return !entry.second.notices.empty() && entry.second.among_data == 0;
  });
  for (const auto& [node, use] : queues) {
    if (use.among_data == 0 || apart == 0) continue;
    const size_t last = scene.PlaceOf(use.last_window);
    if (last >= scene.windows()) continue;
    // It may have begun before the windows that are remembered.
    const size_t began = scene.PlaceOf(use.first_window);
    const size_t first = began < scene.windows() ? began : 0;
    Late& at = late[node];
    at.queued = use.among_data;
    at.first = std::min(at.first, first);
    at.last = std::max(at.last, last);
    at.verdict = first;
  }
  const std::map<NodeIndex, EmptyQueue> empty = EmptyNoticeQueues(scene);
  for (const auto& [node, queue] : empty) {
    Finding finding = FindingOf(scene, FindingKind::kDeprioritisedCnps,
                                {.kind = PlaceKind::kSwitch, .index = node},
                                {.first = queue.run.first(),
                                 .last = queue.run.last(),
                                 .verdict = queue.run.verdict().value()});
    finding.evidence.push_back(
        fmt::format("{} passed it, and its queues of priority {}, in which they wait elsewhere or "
                    "did before, stayed empty",
                    Counted(queue.notices, "notification"), queue.priority));
    found.push_back(std::move(finding));
  }
  for (const auto& [node, at] : late) {
    // As many as the mirrors have lost sight of may have been taken for each other.
    const auto use = queues.find(node);
    const uint64_t unmatched = use == queues.end() ? 0 : use->second.unmatched;
    if (empty.contains(node) || (at.queued == 0 && at.packets < kEnough + unmatched)) continue;
    if (at.first >= scene.windows()) continue;
    Shift shift = {.first = at.first, .last = at.last, .verdict = std::min(at.verdict, at.last)};
    if (at.verdict == SIZE_MAX) {
      // When enough of them had been late.
      uint32_t sum = 0;
      for (const auto& [place, count] : at.by_window) {
        sum += count;
        if (sum >= kEnough) {
          shift.verdict = place;
          break;
        }
      }
    }
    Finding finding = FindingOf(scene, FindingKind::kDeprioritisedCnps,
                                {.kind = PlaceKind::kSwitch, .index = node}, shift);
    finding.confidence = at.queued > 0 ? 0.98 : 0.85;
    if (at.queued > 0) {
      finding.evidence.push_back(
          fmt::format("INT saw {} in a queue of data; other switches have a queue of their own for "
                      "notifications",
                      Counted(at.queued, "notification")));
    }
    if (at.packets > 0) {
      finding.evidence.push_back(
          fmt::format("{} of {} took longer through it than strict priority allows",
                      WithThousands(at.packets), Counted(at.of, "notification")));
    }
    found.push_back(std::move(finding));
  }
}

}  // namespace rocescope
