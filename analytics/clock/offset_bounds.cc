// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/clock/offset_bounds.h"

#include <cstddef>
#include <deque>
#include <limits>
#include <utility>

namespace rocescope {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

struct Edge {
  uint32_t to = 0;
  int64_t ns = 0;
};

// Bellman's and Ford's, with a queue: weights may be negative. False if a ring of them is.
bool ShortestPaths(const std::vector<std::vector<Edge>>& edges, uint32_t from,
                   std::vector<int64_t>& distance) {
  distance.assign(edges.size(), kFar);
  std::vector<uint32_t> rounds(edges.size());
  std::vector<bool> waiting(edges.size());
  std::deque<uint32_t> queue = {from};
  distance[from] = 0;
  while (!queue.empty()) {
    const uint32_t at = queue.front();
    queue.pop_front();
    waiting[at] = false;
    for (const Edge& edge : edges[at]) {
      const int64_t next = distance[at] + edge.ns;
      if (next >= distance[edge.to]) continue;
      distance[edge.to] = next;
      if (waiting[edge.to]) continue;
      if (++rounds[edge.to] > edges.size()) return false;
      waiting[edge.to] = true;
      queue.push_back(edge.to);
    }
  }
  return distance[from] == 0;
}

}  // namespace

std::optional<std::vector<std::optional<OffsetBounds>>> BoundOffsets(
    std::span<const DelayBound> bounds, uint32_t clocks, uint32_t reference) {
  std::vector<std::vector<Edge>> forward(clocks);
  std::vector<std::vector<Edge>> backward(clocks);
  for (const DelayBound& bound : bounds) {
    forward[bound.from].push_back({.to = bound.to, .ns = bound.ns});
    backward[bound.to].push_back({.to = bound.from, .ns = bound.ns});
  }
  std::vector<int64_t> most;
  std::vector<int64_t> least;
  if (!ShortestPaths(forward, reference, most) || !ShortestPaths(backward, reference, least)) {
    return std::nullopt;
  }
  std::vector<std::optional<OffsetBounds>> result(clocks);
  for (uint32_t i = 0; i < clocks; ++i) {
    if (most[i] == kFar || least[i] == kFar) continue;
    if (-least[i] > most[i]) return std::nullopt;
    result[i] = {.least = -least[i], .most = most[i]};
  }
  return result;
}

}  // namespace rocescope
