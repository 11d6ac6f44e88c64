// SPDX-License-Identifier: BSD-3-Clause
// Notifications that wait: strict priority lets one frame go before them at most.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
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

// Notifications of a switch in its queues of data, by INT.
struct AmongData {
  uint64_t packets = 0;
  uint64_t all = 0;        // notifications, in windows from the first such one to the last
  uint64_t unmatched = 0;  // by mirrors
  uint64_t notices = 0;    // in all
  size_t first = 0;
  size_t last = 0;
  size_t verdict = 0;  // when they were enough
};

// A few packets with a wrong DSCP do not make a queue one of data: a good part of what the switch
// forwards goes there.
std::set<uint8_t> QueuesOfData(const Scene& scene, const std::vector<QueueUse>& uses) {
  constexpr uint64_t kLeast = 20;
  constexpr uint64_t kPart = 10;
  std::map<uint8_t, uint64_t> data;
  uint64_t all = 0;
  for (const QueueUse& use : uses) {
    if (scene.PlaceOf(use.window) >= scene.windows()) continue;
    for (const QueueCount& count : use.queues) {
      data[count.queue] += count.data;
      all += count.data;
    }
  }
  std::set<uint8_t> queues;
  for (const auto& [queue, packets] : data) {
    if (packets >= kLeast && packets * kPart >= all) queues.insert(queue);
  }
  return queues;
}

constexpr uint32_t kEnoughLate = 3;
constexpr uint32_t kEnoughAmongData = 2;

AmongData AmongDataOf(const Scene& scene, const std::vector<QueueUse>& uses) {
  const std::set<uint8_t> queues = QueuesOfData(scene, uses);
  AmongData among;
  uint64_t since = 0;
  for (const QueueUse& use : uses) {
    const size_t place = scene.PlaceOf(use.window);
    if (place >= scene.windows()) continue;
    among.unmatched += use.unmatched;
    uint64_t packets = 0;
    uint64_t all = 0;
    for (const QueueCount& count : use.queues) {
      all += count.notices;
      if (queues.contains(count.queue)) packets += count.notices;
    }
    among.notices += all;
    if (packets > 0 || among.packets > 0) since += all;
    if (packets == 0) continue;
    if (among.packets == 0) among.first = place;
    if (among.packets < kEnoughAmongData) among.verdict = place;
    among.packets += packets;
    among.all = since;
    among.last = place;
  }
  return among;
}

// One sender's notifications with a wrong DSCP are not the switch's doing: it puts most of them
// there.
bool IsAmongData(const AmongData& among) {
  return among.packets >= kEnoughAmongData && among.packets * 2 > among.all;
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
  std::map<NodeIndex, AmongData> told;
  for (const auto& [node, uses] : scene.parts().queue_uses) {
    told.emplace(node, AmongDataOf(scene, uses));
  }
  // Where all switches put them among data, that is how the fabric is meant.
  const auto apart = std::ranges::count_if(told, [](const auto& entry) {
    return entry.second.notices > 0 && entry.second.packets == 0;
  });
  for (const auto& [node, among] : told) {
    if (!IsAmongData(among) || apart == 0) continue;
    Late& at = late[node];
    at.queued = among.packets;
    at.first = std::min(at.first, among.first);
    at.last = std::max(at.last, among.last);
    at.verdict = among.verdict;
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
    const auto use = told.find(node);
    const uint64_t unmatched = use == told.end() ? 0 : use->second.unmatched;
    if (empty.contains(node) || (at.queued == 0 && at.packets < kEnoughLate + unmatched)) continue;
    if (at.first >= scene.windows()) continue;
    Shift shift = {.first = at.first, .last = at.last, .verdict = std::min(at.verdict, at.last)};
    if (at.verdict == SIZE_MAX) {
      // When enough of them had been late.
      uint32_t sum = 0;
      for (const auto& [place, count] : at.by_window) {
        sum += count;
        if (sum >= kEnoughLate) {
          shift.verdict = place;
          break;
        }
      }
    }
    Finding finding = FindingOf(scene, FindingKind::kDeprioritisedCnps,
                                {.kind = PlaceKind::kSwitch, .index = node}, shift);
    finding.confidence = at.packets >= kEnoughLate + unmatched ? 0.85 : 0;
    finding.confidence = std::max(finding.confidence, ConfidenceFromCount(at.queued, 0.98));
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
