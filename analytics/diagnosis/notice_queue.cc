// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/notice_queue.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rocescope {
namespace {

using topology::NodeIndex;
using topology::PortIndex;

using Notices = std::map<NodeIndex, std::vector<uint32_t>>;  // by switch and window

Notices NoticesOf(const Scene& scene) {
  Notices notices;
  for (const auto& [key, windows] : scene.parts().delays.by_way) {
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

// The longest of the switch's queues of a priority, window by window; none if it tells of none.
Row LongestOf(const Scene& scene, NodeIndex node, uint8_t priority) {
  Row longest;
  for (uint32_t i = 0; i < scene.fabric().node(node).port_count; ++i) {
    const Entity entity = scene.EntityOf(scene.fabric().node(node).first_port + i, priority);
    if (!scene.Tells(entity, Metric::kQueueWatermark)) continue;
    longest.resize(scene.windows());
    const Row row = scene.Readings(entity, Metric::kQueueWatermark);
    for (size_t w = 0; w < longest.size(); ++w) longest[w] = std::max(longest[w], row[w]);
  }
  return longest;
}

// Of windows with notifications.
struct Usual {
  size_t filled = 0;
  size_t empty = 0;

  // By its logarithm. However many there are, one in a hundred is an accident.
  double Doubt() const {
    constexpr double kAccident = 0.01;
    return std::log(std::max(
        (static_cast<double>(empty) + 0.5) / static_cast<double>(filled + empty + 1), kAccident));
  }
};

}  // namespace

std::map<NodeIndex, EmptyQueue> EmptyNoticeQueues(const Scene& scene) {
  constexpr double kImpossible = -9.2;  // one in ten thousand
  const Notices notices = NoticesOf(scene);
  std::map<NodeIndex, EmptyQueue> empty;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    std::map<NodeIndex, Row> rows;
    Usual all;
    for (const auto& [node, passed] : notices) {
      Row& row = rows[node] = LongestOf(scene, node, priority);
      for (size_t w = 0; w < row.size(); ++w) {
        if (passed[w] > 0) ++(row[w] > 0 ? all.filled : all.empty);
      }
    }
    for (const auto& [node, row] : rows) {
      const std::vector<uint32_t>& passed = notices.at(node);
      // All others', and its own before what is looked at.
      Usual usual = all;
      for (size_t w = 0; w < row.size(); ++w) {
        if (passed[w] > 0) --(row[w] > 0 ? usual.filled : usual.empty);
      }
      EmptyQueue run = {.priority = priority};
      double doubt = 0;
      size_t windows = 0;
      for (size_t w = 0; w <= row.size(); ++w) {
        if (w < row.size() && passed[w] == 0 && row[w] == 0) continue;
        if (w < row.size() && row[w] == 0) {
          if (windows++ == 0) run.first = w;
          const bool was_clear = doubt <= kImpossible;
          doubt += usual.Doubt();
          if (!was_clear && doubt <= kImpossible) run.verdict = w;
          run.last = w;
          run.notices += passed[w];
          continue;
        }
        if (doubt <= kImpossible && windows > 1) empty.try_emplace(node, run);
        usual.empty += windows;
        if (w < row.size() && passed[w] > 0) ++usual.filled;
        run = {.priority = priority};
        doubt = 0;
        windows = 0;
      }
    }
  }
  return empty;
}

}  // namespace rocescope
