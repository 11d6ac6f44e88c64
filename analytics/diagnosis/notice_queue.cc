// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/notice_queue.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace rocescope {
namespace {

using topology::NodeIndex;
using topology::PortIndex;

using Notices = std::map<NodeIndex, std::vector<uint32_t>>;  // by switch and window

Notices NoticesOf(const Scene& scene) {
  Notices notices;
  for (const auto& [key, windows] : scene.parts().delays) {
    if (key.kind != DelayKind::kNotice) continue;
    std::vector<uint32_t>& row = notices[key.from];
    row.resize(scene.windows());
    for (const DelayWindow& window : windows) {
      const size_t place = scene.PlaceOf(window.window);
      if (place < row.size()) row[place] += window.count;
    }
  }
  return notices;
}

// The longest of the switch's queues of a priority, and whether all of those that it tells of were
// read, window by window; none if it tells of none.
struct Longest {
  Row bytes;
  std::vector<bool> is_read;
};

Longest LongestOf(const Scene& scene, NodeIndex node, uint8_t priority) {
  Longest longest;
  for (uint32_t i = 0; i < scene.fabric().node(node).port_count; ++i) {
    const Entity entity = scene.EntityOf(scene.fabric().node(node).first_port + i, priority);
    if (!scene.Tells(entity, Metric::kQueueWatermark)) continue;
    longest.bytes.resize(scene.windows());
    longest.is_read.resize(scene.windows(), true);
    const Row row = scene.Readings(entity, Metric::kQueueWatermark);
    for (size_t w = 0; w < row.size(); ++w) {
      longest.bytes[w] = std::max(longest.bytes[w], row[w]);
      if (!scene.HasReading(entity, Metric::kQueueWatermark, w)) longest.is_read[w] = false;
    }
  }
  return longest;
}

// Of windows with notifications.
struct Usual {
  size_t filled = 0;
  size_t empty = 0;
};

// All others' windows, and its own before those that are looked at.
std::optional<EmptyQueue> FirstEmpty(uint8_t priority, const Longest& longest,
                                     const std::vector<uint32_t>& passed, Usual usual) {
  EmptyQueue queue = {.priority = priority};
  for (size_t w = 0; w < longest.bytes.size(); ++w) {
    if (longest.bytes[w] == 0) {
      if (passed[w] == 0 || !longest.is_read[w]) continue;
      queue.run.Add(w, ChanceOfNone(usual.filled, usual.empty));
      queue.notices += passed[w];
      continue;
    }
    if (queue.run.verdict()) break;
    usual.empty += queue.run.windows();
    if (passed[w] > 0) ++usual.filled;
    queue = {.priority = priority};
  }
  return queue.run.verdict() ? std::optional(queue) : std::nullopt;
}

}  // namespace

std::map<NodeIndex, EmptyQueue> EmptyNoticeQueues(const Scene& scene) {
  const Notices notices = NoticesOf(scene);
  std::map<NodeIndex, EmptyQueue> empty;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    std::map<NodeIndex, Longest> rows;
    std::map<NodeIndex, Usual> of_node;
    Usual all;
    for (const auto& [node, passed] : notices) {
      const Longest& row = rows[node] = LongestOf(scene, node, priority);
      Usual& own = of_node[node];
      for (size_t w = 0; w < row.bytes.size(); ++w) {
        if (passed[w] == 0) continue;
        if (row.bytes[w] > 0) {
          ++own.filled;
        } else if (row.is_read[w]) {
          ++own.empty;
        }
      }
      all.filled += own.filled;
      all.empty += own.empty;
    }
    for (const auto& [node, row] : rows) {
      const Usual others = {.filled = all.filled - of_node[node].filled,
                            .empty = all.empty - of_node[node].empty};
      if (const auto found = FirstEmpty(priority, row, notices.at(node), others)) {
        empty.try_emplace(node, *found);
      }
    }
  }
  return empty;
}

}  // namespace rocescope
