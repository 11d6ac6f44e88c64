// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/clock/offset_bounds.h"

#include <algorithm>
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

// Bellman-Ford with a queue, because weights may be negative. Returns false for a negative cycle or
// an overflow.
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
      int64_t next = 0;
      if (__builtin_add_overflow(distance[at], edge.ns, &next) || next < -kFar) {
        if (edge.ns > 0) continue;  // no bound at all
        return false;
      }
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

// Tarjan's algorithm with an explicit stack, because chains of switches can be long.
class Grouping {
 public:
  explicit Grouping(std::vector<std::vector<uint32_t>> next)
      : next_(std::move(next)), met_(next_.size()), lowest_(next_.size()), group_(next_.size()) {}

  std::vector<uint32_t> Run() {
    for (uint32_t clock = 0; clock < next_.size(); ++clock) {
      if (met_[clock] == 0) Visit(clock);
    }
    return std::move(group_);
  }

 private:
  struct Place {
    uint32_t clock = 0;
    size_t done = 0;  // number of visited neighbours
  };

  void Meet(uint32_t clock) {
    met_[clock] = lowest_[clock] = ++count_;
    open_.push_back(clock);
    way_.push_back({.clock = clock});
  }

  void Visit(uint32_t first) {
    Meet(first);
    while (!way_.empty()) {
      const uint32_t clock = way_.back().clock;
      if (way_.back().done < next_[clock].size()) {
        const uint32_t to = next_[clock][way_.back().done++];
        if (met_[to] == 0) {
          Meet(to);
        } else if (met_[to] != kClosed) {
          lowest_[clock] = std::min(lowest_[clock], met_[to]);
        }
        continue;
      }
      way_.pop_back();
      if (!way_.empty()) {
        uint32_t& above = lowest_[way_.back().clock];
        above = std::min(above, lowest_[clock]);
      }
      if (lowest_[clock] == met_[clock]) Close(clock);
    }
  }

  void Close(uint32_t first) {
    uint32_t clock = 0;
    do {
      clock = open_.back();
      open_.pop_back();
      met_[clock] = kClosed;
      group_[clock] = groups_;
    } while (clock != first);
    ++groups_;
  }

  static constexpr uint32_t kClosed = std::numeric_limits<uint32_t>::max();

  std::vector<std::vector<uint32_t>> next_;
  std::vector<uint32_t> met_;  // visit number, from 1; 0: not visited
  std::vector<uint32_t> lowest_;
  std::vector<uint32_t> group_;
  std::vector<uint32_t> open_;
  std::vector<Place> way_;
  uint32_t count_ = 0;
  uint32_t groups_ = 0;
};

}  // namespace

std::vector<uint32_t> GroupsOf(std::span<const DelayBound> bounds, uint32_t clocks) {
  std::vector<std::vector<uint32_t>> next(clocks);
  for (const DelayBound& bound : bounds) next[bound.from].push_back(bound.to);
  return Grouping(std::move(next)).Run();
}

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
