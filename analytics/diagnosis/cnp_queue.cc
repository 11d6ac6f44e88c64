// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/cnp_queue.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace rocescope {
namespace {

using topology::NodeIndex;
using topology::PortIndex;

using Notices = std::map<NodeIndex, std::vector<uint32_t>>;  // by switch and window

Notices NoticesOf(const DiagnosisInput& input) {
  Notices notices;
  for (const auto& [key, windows] : input.parts().delays) {
    if (key.kind != DelayKind::kCnp) continue;
    std::vector<uint32_t>& row = notices[key.from];
    row.resize(input.windows());
    for (const DelayWindow& window : windows) {
      const size_t place = input.PlaceOf(window.window);
      if (place < row.size()) row[place] += window.count;
    }
  }
  return notices;
}

// For each window: the longest queue of the switch in a priority, and whether all reported queues
// were read. Empty if it reports no queue.
struct Longest {
  Row bytes;
  std::vector<bool> is_read;
  bool is_read_at_window_ends = true;
};

// What a queue contains in a window with CNPs.
enum class Content : uint8_t { kUnknown, kNothing, kCnps, kOthers };

// A queue of CNPs is never longer than all CNPs of the window. Mirrors may have missed some of
// them. If queues are not read at window ends, the CNPs of a window may be in a reading of the next
// two.
Content ContentOf(const Longest& longest, const std::vector<uint32_t>& passed, size_t window) {
  constexpr uint64_t kMissed = 4;   // CNPs for each one that mirrors see
  constexpr uint64_t kQueued = 16;  // CNPs at the same time
  if (passed[window] == 0) return Content::kUnknown;
  const size_t spread = longest.is_read_at_window_ends ? 0 : 2;
  const size_t first = window - std::min(window, spread);
  const size_t last = std::min(window + spread, longest.bytes.size() - 1);
  uint64_t bytes = 0;
  bool is_read = true;
  for (size_t w = window; w <= last; ++w) {
    bytes = std::max(bytes, longest.bytes[w]);
    is_read = is_read && longest.is_read[w];
  }
  uint64_t cnps = 0;
  for (size_t w = first; w <= last; ++w) cnps += passed[w];
  if (bytes > kLongestCnp * std::min(kMissed * cnps, kQueued)) return Content::kOthers;
  if (bytes > 0) return Content::kCnps;
  return is_read && window + spread == last ? Content::kNothing : Content::kUnknown;
}

Longest LongestOf(const DiagnosisInput& input, NodeIndex node, uint8_t priority) {
  Longest longest;
  for (uint32_t i = 0; i < input.fabric().node(node).port_count; ++i) {
    const Entity entity = input.EntityOf(input.fabric().node(node).first_port + i, priority);
    if (!input.HasMetric(entity, Metric::kQueueWatermark)) continue;
    longest.bytes.resize(input.windows());
    longest.is_read.resize(input.windows(), true);
    longest.is_read_at_window_ends =
        longest.is_read_at_window_ends && input.IsReadAtWindowEnds(entity, Metric::kQueueWatermark);
    const Row row = input.Readings(entity, Metric::kQueueWatermark);
    for (size_t w = 0; w < row.size(); ++w) {
      longest.bytes[w] = std::max(longest.bytes[w], row[w]);
      if (!input.HasReading(entity, Metric::kQueueWatermark, w)) longest.is_read[w] = false;
    }
  }
  return longest;
}

// Numbers of windows with CNPs.
struct Usual {
  size_t filled = 0;  // by CNPs
  size_t empty = 0;
  size_t others = 0;  // filled by other packets
  // Windows without CNPs.
  size_t idle = 0;
  size_t filled_while_idle = 0;

  // CNPs usually wait in this priority, and others seldom do: it is seldom longer than CNPs can
  // make it, and filled at least twice as often in windows with CNPs. Mirrors do not see all CNPs,
  // so that it may be filled in others too.
  bool IsOfCnps() const {
    return filled > 8 * others && filled >= 4 * empty &&
           filled * idle >= 2 * filled_while_idle * (filled + empty + others);
  }
  // The share of the windows with CNPs in which CNPs filled it.
  double Share() const {
    return static_cast<double>(filled) / static_cast<double>(filled + empty + others);
  }

  void Add(const Usual& more) {
    filled += more.filled;
    empty += more.empty;
    others += more.others;
    idle += more.idle;
    filled_while_idle += more.filled_while_idle;
  }
  Usual Without(const Usual& part) const {
    return {.filled = filled - part.filled,
            .empty = empty - part.empty,
            .others = others - part.others,
            .idle = idle - part.idle,
            .filled_while_idle = filled_while_idle - part.filled_while_idle};
  }
};

// The queues of a priority, by switch.
struct Queues {
  uint8_t priority = 0;
  std::map<NodeIndex, Longest> longest;
  std::map<NodeIndex, Usual> usual;
  Usual all;
};

Queues QueuesOf(const DiagnosisInput& input, const Notices& notices, uint8_t priority) {
  Queues queues = {.priority = priority};
  for (const auto& [node, passed] : notices) {
    const Longest& row = queues.longest[node] = LongestOf(input, node, priority);
    Usual& own = queues.usual[node];
    for (size_t w = 0; w < row.bytes.size(); ++w) {
      const Content content = ContentOf(row, passed, w);
      own.filled += content == Content::kCnps;
      own.empty += content == Content::kNothing;
      own.others += content == Content::kOthers;
      if (passed[w] > 0 || !row.is_read[w]) continue;
      ++own.idle;
      own.filled_while_idle += row.bytes[w] > 0;
    }
    queues.all.Add(own);
  }
  return queues;
}

// `usual` has the windows of all other switches. The switch's own earlier windows are added.
std::optional<EmptyQueue> FirstEmpty(uint8_t priority, const Longest& longest,
                                     const std::vector<uint32_t>& passed, Usual usual) {
  EmptyQueue queue = {.priority = priority};
  for (size_t w = 0; w < longest.bytes.size(); ++w) {
    const Content content = ContentOf(longest, passed, w);
    if (content == Content::kUnknown) continue;
    if (content == Content::kNothing) {
      queue.run.Add(w, ChanceOfNone(usual.filled, usual.empty));
      queue.cnps += passed[w];
      continue;
    }
    if (queue.run.detected_at()) break;
    usual.empty += queue.run.windows();
    if (content == Content::kCnps) ++usual.filled;
    queue = {.priority = priority};
  }
  return queue.run.detected_at() ? std::optional(queue) : std::nullopt;
}

}  // namespace

std::map<NodeIndex, EmptyQueue> EmptyCnpQueues(const DiagnosisInput& input) {
  const Notices notices = NoticesOf(input);
  // Another priority may have packets at the same times by chance.
  std::optional<Queues> best;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    Queues queues = QueuesOf(input, notices, priority);
    if (queues.all.IsOfCnps() && (!best || queues.all.Share() > best->all.Share())) {
      best = std::move(queues);
    }
  }
  std::map<NodeIndex, EmptyQueue> empty;
  if (!best) return empty;
  for (const auto& [node, row] : best->longest) {
    const Usual others = best->all.Without(best->usual[node]);
    if (!others.IsOfCnps()) continue;
    if (const auto found = FirstEmpty(best->priority, row, notices.at(node), others)) {
      empty.try_emplace(node, *found);
    }
  }
  return empty;
}

}  // namespace rocescope
