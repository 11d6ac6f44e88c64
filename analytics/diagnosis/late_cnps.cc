// SPDX-License-Identifier: BSD-3-Clause
// Finds switches in which CNPs wait behind data. With strict priority, at most one frame goes
// before a CNP.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analytics/diagnosis/cnp_queue.h"
#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "base/count_text.h"

namespace rocescope {

using topology::NodeIndex;

namespace {

// Windows in which even the fastest data packet took longer on this path. There the path itself
// delays CNPs.
std::set<int64_t> LongerWindows(const DiagnosisInput& input, DelayKey key) {
  const Delays& delays = input.parts().delays;
  key.kind = DelayKind::kTransit;
  std::set<int64_t> longer;
  const auto at = delays.find(key);
  if (at == delays.end()) return longer;
  const int64_t quickest = std::ranges::min(at->second, {}, &DelayWindow::least).least;
  for (const DelayWindow& window : at->second) {
    if (window.least > quickest + input.thresholds().slow_path_ns) longer.insert(window.window);
  }
  return longer;
}

// CNPs of a switch in its queues of data packets, as INT reports them.
struct AmongData {
  uint64_t packets = 0;
  uint64_t all = 0;        // CNPs, in windows from the first such one to the last
  uint64_t unmatched = 0;  // by mirrors
  uint64_t cnps = 0;       // in all
  size_t first = 0;
  size_t last = 0;
  size_t detected_at = 0;  // when they were enough
};

// A few data packets with a wrong DSCP do not make a queue a queue of data.
std::set<uint8_t> QueuesOfData(const DiagnosisInput& input, const std::vector<QueueUse>& uses) {
  const Thresholds& thresholds = input.thresholds();
  std::map<uint8_t, uint64_t> data;
  uint64_t all = 0;
  for (const QueueUse& use : uses) {
    if (input.PlaceOf(use.window) >= input.windows()) continue;
    for (const QueueCount& count : use.queues) {
      data[count.queue] += count.data;
      all += count.data;
    }
  }
  std::set<uint8_t> queues;
  for (const auto& [queue, packets] : data) {
    if (packets >= thresholds.data_queue_packets &&
        static_cast<double>(packets) / static_cast<double>(all) >= thresholds.data_queue_ratio) {
      queues.insert(queue);
    }
  }
  return queues;
}

AmongData AmongDataOf(const DiagnosisInput& input, const std::vector<QueueUse>& uses) {
  const std::set<uint8_t> queues = QueuesOfData(input, uses);
  AmongData among;
  uint64_t since = 0;
  for (const QueueUse& use : uses) {
    const size_t place = input.PlaceOf(use.window);
    if (place >= input.windows()) continue;
    among.unmatched += use.unmatched;
    uint64_t packets = 0;
    uint64_t all = 0;
    for (const QueueCount& count : use.queues) {
      all += count.cnps;
      if (queues.contains(count.queue)) packets += count.cnps;
    }
    among.cnps += all;
    if (packets > 0 || among.packets > 0) since += all;
    if (packets == 0) continue;
    if (among.packets == 0) among.first = place;
    if (among.packets < input.thresholds().cnps_in_data_queue) among.detected_at = place;
    among.packets += packets;
    among.all = since;
    among.last = place;
  }
  return among;
}

// Most CNPs must be in queues of data. A few may have a wrong DSCP from their sender.
bool IsAmongData(const AmongData& among, uint64_t enough) {
  return among.packets >= enough && among.packets * 2 > among.all;
}

}  // namespace

void DetectLateCnps(const DiagnosisInput& input, Findings& found) {
  struct Late {
    std::map<size_t, uint32_t> by_window;
    uint32_t packets = 0;
    uint32_t of = 0;
    size_t first = SIZE_MAX;
    size_t last = 0;
    size_t detected_at = SIZE_MAX;
    uint64_t queued = 0;  // by INT
  };
  const uint32_t enough_late = input.thresholds().late_cnps;
  std::map<NodeIndex, Late> late;
  for (const auto& [key, windows] : input.parts().delays) {
    if (key.kind != DelayKind::kCnp || key.hops > 2) continue;
    Late& at = late[key.from];
    const std::set<int64_t> longer = LongerWindows(input, key);
    for (const DelayWindow& window : windows) {
      const size_t place = input.PlaceOf(window.window);
      if (longer.contains(window.window)) continue;
      at.of += window.count;
      if (window.late == 0 || place >= input.windows()) continue;
      at.by_window[place] += window.late;
      at.packets += window.late;
      at.first = std::min(at.first, place);
      at.last = std::max(at.last, place);
    }
  }
  std::map<NodeIndex, AmongData> told;
  for (const auto& [node, uses] : input.parts().queue_uses) {
    told.emplace(node, AmongDataOf(input, uses));
  }
  // If all switches queue CNPs with data, the fabric is configured so.
  const auto apart = std::ranges::count_if(
      told, [](const auto& entry) { return entry.second.cnps > 0 && entry.second.packets == 0; });
  for (const auto& [node, among] : told) {
    if (!IsAmongData(among, input.thresholds().cnps_in_data_queue) || apart == 0) continue;
    Late& at = late[node];
    at.queued = among.packets;
    at.first = std::min(at.first, among.first);
    at.last = std::max(at.last, among.last);
    at.detected_at = among.detected_at;
  }
  const std::map<NodeIndex, EmptyQueue> empty = EmptyCnpQueues(input);
  for (const auto& [node, queue] : empty) {
    Finding finding =
        FindingOf(input, FaultKind::kDeprioritisedCnps, {.kind = PlaceKind::kSwitch, .index = node},
                  {.first = queue.run.first(),
                   .last = queue.run.last(),
                   .detected_at = queue.run.detected_at().value()});
    finding.evidence.push_back(fmt::format(
        "{} passed it while its queues of priority {} stayed empty; other switches queue "
        "CNPs in that priority, or this one did before",
        Counted(queue.cnps, "CNP"), queue.priority));
    found.push_back(std::move(finding));
  }
  for (const auto& [node, at] : late) {
    // CNPs that mirrors missed may have been matched with others.
    const auto use = told.find(node);
    const uint64_t unmatched = use == told.end() ? 0 : use->second.unmatched;
    if (empty.contains(node) || (at.queued == 0 && at.packets < enough_late + unmatched)) continue;
    if (at.first >= input.windows()) continue;
    Shift shift = {
        .first = at.first, .last = at.last, .detected_at = std::min(at.detected_at, at.last)};
    if (at.detected_at == SIZE_MAX) {
      // The window in which enough CNPs had been late.
      uint32_t sum = 0;
      for (const auto& [place, count] : at.by_window) {
        sum += count;
        if (sum >= enough_late) {
          shift.detected_at = place;
          break;
        }
      }
    }
    Finding finding = FindingOf(input, FaultKind::kDeprioritisedCnps,
                                {.kind = PlaceKind::kSwitch, .index = node}, shift);
    const bool are_late = at.packets >= enough_late + unmatched;
    finding.confidence = are_late ? 0.85 : 0;
    finding.is_by_int = !are_late;
    finding.confidence = std::max(finding.confidence, ConfidenceFromCount(at.queued, 0.98));
    if (at.queued > 0) {
      finding.evidence.push_back(fmt::format(
          "INT reported {} in a queue of data packets; other switches have a separate queue "
          "for CNPs",
          Counted(at.queued, "CNP")));
    }
    if (at.packets > 0) {
      finding.evidence.push_back(
          fmt::format("{} of {} took longer through it than strict priority allows",
                      WithThousands(at.packets), Counted(at.of, "CNP")));
    }
    found.push_back(std::move(finding));
  }
}

TimeToDetection TimeToDetectLateCnps(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.signs = fmt::format(
              "{} late CNPs, {} CNPs in a data queue by INT, or an empty CNP queue "
              "in {} windows with CNPs",
              thresholds.late_cnps, thresholds.cnps_in_data_queue, DoubtRun::kLeastWindows)};
}

}  // namespace rocescope
