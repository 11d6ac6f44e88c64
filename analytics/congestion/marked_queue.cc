// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/marked_queue.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::PortIndex;

// Marks set by one of several queues.
struct Marks {
  std::vector<PortIndex> queues;
  double count = 0;
};

using Carried = std::unordered_map<PortIndex, double>;  // bytes of all flows, by queue

// Marks of all flows together.
struct MarksIn {
  std::vector<Marks> marks;
  Carried carried;  // indexed by queue, for queues among which marks must be distributed
};

using MarksOf = std::map<int64_t, MarksIn>;  // indexed by window

// Returns the flow's path at that time, or null if it is unknown.
const topology::Path* WayAt(const FlowPath& path, Timestamp from, Timestamp until) {
  const topology::Path* way = nullptr;
  for (const PathInterval& stretch : path.intervals) {
    if (stretch.until < from || stretch.from >= until) continue;
    const bool known = stretch.state == PathState::kExact || stretch.state == PathState::kLikely;
    // The path changed in between.
    if (!known || (way != nullptr && *way != stretch.path)) return nullptr;
    way = &stretch.path;
  }
  return way;
}

// Observations of a flow in order of its path; `place` is the index of the port by which it left
// the switch.
struct Sight {
  size_t place = 0;
  uint64_t packets = 0;
  uint64_t marked = 0;
};

std::vector<Sight> SightsOn(const topology::Path& way, const MarkWindow& window,
                            const topology::Fabric& fabric) {
  std::vector<Sight> sights;
  for (size_t place = 1; place < way.length; ++place) {
    const topology::NodeIndex node = fabric.port(way.ports[place]).node;
    Sight sight = {.place = place};
    for (const MarkObservation& one : window.sights) {
      if (one.node != node) continue;
      sight.packets += one.packets;
      sight.marked += one.marked;
    }
    if (sight.packets > 0) sights.push_back(sight);
  }
  return sights;
}

// The increase of marks from one observation point to the next, over all windows so far. Packets
// seen at only one of the two points, because copies were lost or the window ended, may be the
// marked ones.
class Growth {
 public:
  double Add(const Sight& before, const Sight& behind) {
    sum_ += static_cast<double>(behind.marked) - static_cast<double>(before.marked);
    const uint64_t missing = before.packets > behind.packets ? before.packets - behind.packets
                                                             : behind.packets - before.packets;
    const double sure = sum_ - (before.place == 0 ? 0 : static_cast<double>(missing));
    const double grown = std::max(sure - told_, 0.0);
    told_ += grown;
    return grown;
  }

 private:
  double sum_ = 0;
  double told_ = 0;
};

void AddFlow(const FlowPath& path, const std::vector<MarkWindow>& windows, Duration width,
             const topology::Fabric& fabric, MarksOf& marks) {
  std::map<std::pair<PortIndex, PortIndex>, Growth> growths;
  for (const MarkWindow& window : windows) {
    const Timestamp begin(window.window * width);
    const topology::Path* const way = WayAt(path, begin, begin + width);
    if (way == nullptr) continue;
    Sight before;  // the source NIC, where nothing is marked
    for (const Sight& sight : SightsOn(*way, window, fabric)) {
      const size_t first = std::max<size_t>(before.place, 1);
      if (first < sight.place) {
        const double grown =
            growths[{way->ports[first], way->ports[sight.place]}].Add(before, sight);
        if (grown > 0) {
          marks[window.window].marks.push_back(
              {.queues = {way->ports.begin() + static_cast<ptrdiff_t>(first),
                          way->ports.begin() + static_cast<ptrdiff_t>(sight.place)},
               .count = grown});
        }
      }
      before = sight;
    }
  }
}

uint64_t MostNotices(const MarkWindow& window) {
  uint64_t most = 0;
  for (const MarkObservation& sight : window.sights) most = std::max(most, sight.cnps);
  return most;
}

// Returns the last switch on the path where the flow's packets are mirrored at ingress.
size_t LastSeen(const topology::Path& way, const MarkTracker& marks,
                const topology::Fabric& fabric) {
  for (size_t place = way.length - 1; place > 1; --place) {
    const PortIndex ingress = fabric.Peer(way.ports[place - 1]);
    if (ingress != kNone && marks.Sees(ingress)) return place;
  }
  return 1;
}

// A CNP may refer to a mark set slightly earlier.
bool IsMarkedAround(const std::vector<MarkWindow>& windows, int64_t number) {
  return std::ranges::any_of(windows, [&](const MarkWindow& window) {
    return (window.window == number || window.window == number - 1) &&
           std::ranges::any_of(window.sights,
                               [](const MarkObservation& one) { return one.marked > 0; });
  });
}

// CNPs without an observed mark: the packet was marked after the last observation point.
void AddNotified(const FlowPath& path, const std::vector<MarkWindow>& notices,
                 const MarkTracker& marks, const topology::Fabric& fabric, MarksOf& found) {
  const auto own = marks.flows().find(path.flow);
  for (const MarkWindow& window : notices) {
    const uint64_t count = MostNotices(window);
    if (count == 0 || (own != marks.flows().end() && IsMarkedAround(own->second, window.window))) {
      continue;
    }
    const Timestamp begin(window.window * marks.window());
    const topology::Path* const way = WayAt(path, begin, begin + marks.window());
    if (way == nullptr) continue;
    const auto first = static_cast<ptrdiff_t>(LastSeen(*way, marks, fabric));
    found[window.window].marks.push_back(
        {.queues = {way->ports.begin() + first,
                    way->ports.begin() + static_cast<ptrdiff_t>(way->length)},
         .count = static_cast<double>(count)});
  }
}

// If only one queue can have set the marks, the traffic does not matter.
void FillCarried(const FlowPaths& paths, Duration width, MarksOf& by_window) {
  bool any = false;
  for (auto& [number, window] : by_window) {
    for (const Marks& one : window.marks) {
      if (one.queues.size() == 1) continue;
      for (const PortIndex port : one.queues) window.carried[port] = 0;
      any = true;
    }
  }
  if (!any) return;
  for (const FlowPath& path : paths) {
    for (const PathInterval& stretch : path.intervals) {
      const int64_t last = stretch.until.time_since_epoch() / width;
      for (auto at = by_window.lower_bound(stretch.from.time_since_epoch() / width);
           at != by_window.end() && at->first <= last; ++at) {
        Carried& carried = at->second.carried;
        if (carried.empty()) continue;
        const Timestamp begin(at->first * width);
        const auto bytes = static_cast<double>(BytesWithin(stretch, begin, begin + width));
        for (const PortIndex port : stretch.certain) {
          if (const auto queue = carried.find(port); queue != carried.end()) {
            queue->second += bytes;
          }
        }
      }
    }
  }
}

// Returns the number of marks in a window that each queue set.
std::map<PortIndex, double> ShareOut(const MarksIn& window) {
  const std::vector<Marks>& marks = window.marks;
  std::map<PortIndex, double> credit;
  for (const Marks& one : marks) {
    for (const PortIndex port : one.queues) credit[port] = 0;
  }
  const auto bytes = [&carried = window.carried](PortIndex port) {
    const auto at = carried.find(port);
    return at == carried.end() ? 1.0 : std::max(at->second, 1.0);
  };
  std::map<PortIndex, double> rate;
  for (const auto& [port, none] : credit) rate[port] = 1;
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    for (auto& [port, count] : credit) count = 0;
    for (const Marks& one : marks) {
      double sum = 0;
      for (const PortIndex port : one.queues) sum += rate[port];
      for (const PortIndex port : one.queues) credit[port] += one.count * rate[port] / sum;
    }
    for (auto& [port, count] : credit) rate[port] = std::max(count / bytes(port), 1e-30);
  }
  return credit;
}

}  // namespace

std::vector<MarkedQueue> MarkedQueues(const MarkTracker& marks, const FlowPaths& paths,
                                      const ConnectionList& connections,
                                      const topology::Fabric& fabric) {
  if (marks.flows().empty()) return {};
  MarksOf by_window;
  const auto notified = OtherWays(connections);
  for (const auto& [flow, windows] : marks.flows()) {
    if (const FlowPath* path = paths.Find(flow, &FlowPath::flow)) {
      AddFlow(*path, windows, marks.window(), fabric, by_window);
    }
    const auto about = notified.find(flow);
    if (about == notified.end()) continue;
    const FlowPath* const path = paths.Find(about->second, &FlowPath::flow);
    if (path == nullptr) continue;
    AddNotified(*path, windows, marks, fabric, by_window);
  }
  FillCarried(paths, marks.window(), by_window);
  std::vector<MarkedQueue> marked;
  for (const auto& [window, all] : by_window) {
    std::set<PortIndex> seen;  // observed directly before and after the queue
    for (const Marks& one : all.marks) {
      if (one.queues.size() == 1) seen.insert(one.queues[0]);
    }
    const std::map<PortIndex, double> credit = ShareOut(all);
    for (const auto& [port, count] : credit) {
      // Ignore the small remainder of a queue if other queues explain the marks better.
      constexpr double kLeast = 0.5;
      if (count < kLeast) continue;
      marked.push_back(
          {.port = port, .window = window, .marks = count, .inferred = !seen.contains(port)});
    }
  }
  std::ranges::sort(marked, [](const MarkedQueue& a, const MarkedQueue& b) {
    return std::pair(a.port, a.window) < std::pair(b.port, b.window);
  });
  return marked;
}

}  // namespace rocescope
