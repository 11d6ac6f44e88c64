// SPDX-License-Identifier: BSD-3-Clause
// What takes longer than it did, and by more than queues and pauses explain. The least of many
// delays has no queue in it: where that rises, the way itself has become longer; where the mean
// rises and not the least, somebody at its end takes his time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// Longest that a frame may have waited in the port's queues in each window, in ns.
Row WaitAt(const Scene& scene, PortIndex port) {
  Row wait(scene.windows());
  const auto bits_per_second =
      static_cast<double>(scene.fabric().link(scene.fabric().port(port).link).bits_per_second);
  const PortIndex peer = scene.fabric().Peer(port);
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Entity entity = scene.EntityOf(port, priority);
    const Row octets = scene.Readings(entity, Metric::kQueueWatermark);
    const Row held = scene.Growth(entity, Metric::kPfcRxTime);
    const Row holds = scene.Growth(scene.EntityOf(peer, priority), Metric::kPfcTxTime);
    for (size_t w = 0; w < wait.size(); ++w) {
      wait[w] += static_cast<uint64_t>(static_cast<double>(octets[w]) * 8e9 / bits_per_second) +
                 std::max(held[w], holds[w]);
    }
  }
  return wait;
}

void AddTo(Row& to, const Row& from) {
  for (size_t w = 0; w < to.size(); ++w) to[w] += from[w];
}

struct Shift {
  size_t first = 0;
  size_t last = 0;
  size_t verdict = 0;
  size_t windows = 0;  // that show it
  uint32_t packets = 0;
  double by = 0;  // ns: of the least, the median over those windows
};

enum class Of : uint8_t { kLeast, kMost };

// Fewer windows than that have to be close to each other.
constexpr size_t kSeveral = 4;

// Windows in which even the least, or the most, lies above the quickest ever by more than `wait`
// and a margin; and not many others between them.
std::optional<Shift> ShiftOf(const Scene& scene, const std::vector<DelayWindow>& windows,
                             const Row& wait, Of of, int64_t margin) {
  // A packet that was sent again may seem to come before it went: the very least is not believed.
  constexpr size_t kUnbelieved = 2;
  if (windows.size() < 2 * kUnbelieved) return std::nullopt;
  std::vector<int64_t> least;
  for (const DelayWindow& window : windows) least.push_back(window.least);
  std::ranges::nth_element(least, least.begin() + kUnbelieved);
  const int64_t quickest = least[kUnbelieved];
  Shift shift;
  std::vector<int64_t> by;
  std::vector<size_t> usual;
  for (const DelayWindow& window : windows) {
    const size_t place = scene.PlaceOf(window.window);
    if (place >= scene.windows()) continue;
    const int64_t over = (of == Of::kLeast ? window.least : window.next_most) - quickest;
    if (over <= static_cast<int64_t>(wait[place]) + margin) {
      // Queued for as long as that: it says nothing of the rest.
      if (over <= margin || wait[place] == 0) usual.push_back(place);
      continue;
    }
    // Far from each other they are two accidents.
    constexpr size_t kNear = 2;
    if (of == Of::kMost && shift.windows > 0 && shift.windows < kSeveral &&
        place > shift.last + kNear) {
      shift = {};
      by.clear();
    }
    if (shift.windows++ == 0) shift.first = place;
    if (shift.windows == 2) shift.verdict = place;
    shift.last = place;
    shift.packets += window.count;
    by.push_back(window.least - quickest);
  }
  constexpr size_t kEnough = 2;
  constexpr uint32_t kPackets = 5;
  if (shift.windows < kEnough || shift.packets < kPackets) return std::nullopt;
  const auto between = static_cast<size_t>(std::ranges::count_if(
      usual, [&](size_t place) { return place > shift.first && place < shift.last; }));
  const auto all = static_cast<size_t>(std::ranges::count_if(windows, [&](const auto& window) {
    const size_t place = scene.PlaceOf(window.window);
    return place >= shift.first && place <= shift.last;
  }));
  if (of == Of::kLeast ? between * 10 > shift.windows : shift.windows * 2 < all) {
    return std::nullopt;
  }
  std::ranges::nth_element(by, by.begin() + static_cast<ptrdiff_t>(by.size() / 2));
  shift.by = static_cast<double>(by[by.size() / 2]);
  return shift;
}

Finding FindingOf(const Scene& scene, FindingKind kind, Place place, const Shift& shift) {
  Finding finding = {.kind = kind,
                     .place = place,
                     .confidence = 0.95,
                     .from = scene.BeginOf(shift.first),
                     .verdict = scene.EndOf(shift.verdict)};
  finding.until = scene.Until(shift.last);
  return finding;
}

// Added latency is microseconds: less than this is clocks' grain and frames' lengths.
constexpr int64_t kMargin = 1500;

// By link and sender; the larger of what several sources say.
using Shifts = std::map<std::pair<LinkIndex, PortIndex>, Shift>;

// The port of `from` that leads to `to`; kNone if several do.
PortIndex OnlyPort(const topology::Fabric& fabric, NodeIndex from, NodeIndex to) {
  PortIndex found = kNone;
  for (uint32_t i = 0; i < fabric.node(from).port_count; ++i) {
    const PortIndex port = fabric.node(from).first_port + i;
    if (fabric.PeerNode(port) != to) continue;
    if (found != kNone) return kNone;
    found = port;
  }
  return found;
}

// Sending ports between the two places, in order; empty if they are not known.
std::vector<PortIndex> WayOf(const topology::Fabric& fabric, const DelayKey& key) {
  if (key.hops == 1 && key.to_node) {
    const PortIndex port = OnlyPort(fabric, key.from, key.to);
    return port == kNone ? std::vector<PortIndex>() : std::vector{port};
  }
  if (key.to_node) return {};
  const PortIndex last = fabric.Peer(key.to);
  if (last == kNone) return {};
  const NodeIndex before = fabric.port(last).node;
  if (key.hops == 1) return before == key.from ? std::vector{last} : std::vector<PortIndex>();
  if (key.hops != 2) return {};
  const PortIndex first = OnlyPort(fabric, key.from, before);
  return first == kNone ? std::vector<PortIndex>() : std::vector{first, last};
}

void Note(const Scene& scene, PortIndex sender, const Shift& shift, Shifts& shifts) {
  const auto [at, is_new] = shifts.try_emplace({scene.fabric().port(sender).link, sender}, shift);
  if (!is_new && shift.windows > at->second.windows) at->second = shift;
}

struct Pair {
  std::vector<PortIndex> way;
  Shift shift;
};

// Of two links in a row either may be the longer one. The fewest cables that explain all: the one
// first that most ways are over, if most of its own ways are longer.
void NoteFewest(const Scene& scene, const std::map<PortIndex, std::pair<size_t, size_t>>& ways_of,
                std::vector<Pair> pairs, Shifts& shifts) {
  const auto is_likely = [&](PortIndex port) {
    const auto& [longer, all] = ways_of.at(port);
    return longer * 2 > all;
  };
  while (!pairs.empty()) {
    std::map<LinkIndex, size_t> explains;
    for (const Pair& pair : pairs) {
      for (const PortIndex port : pair.way) {
        if (is_likely(port)) ++explains[scene.fabric().port(port).link];
      }
    }
    const auto most =
        std::ranges::max_element(explains, {}, [](const auto& e) { return e.second; });
    if (most == explains.end()) return;
    const LinkIndex link = most->first;
    std::erase_if(pairs, [&](const Pair& pair) {
      for (const PortIndex port : pair.way) {
        if (scene.fabric().port(port).link != link || !is_likely(port)) continue;
        Note(scene, port, pair.shift, shifts);
        return true;
      }
      return false;
    });
  }
}

void DetectLongerLinks(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  Shifts shifts;
  std::vector<Pair> pairs;
  std::map<PortIndex, std::pair<size_t, size_t>> ways_of;  // ways over it: longer, and all
  for (const auto& [key, windows] : scene.parts().delays.delays()) {
    if (key.kind != DelayKind::kTransit && key.kind != DelayKind::kWire) continue;
    const std::vector<PortIndex> way = WayOf(fabric, key);
    if (way.empty()) continue;
    Row wait(scene.windows());
    if (key.kind == DelayKind::kTransit) {
      for (const PortIndex port : way) AddTo(wait, WaitAt(scene, port));
    }
    const auto shift = ShiftOf(scene, windows, wait, Of::kLeast, kMargin);
    for (const PortIndex port : way) {
      ways_of[port].first += shift.has_value();
      ++ways_of[port].second;
    }
    if (!shift) continue;
    if (way.size() == 1) {
      Note(scene, way[0], *shift, shifts);
    } else {
      pairs.push_back({way, *shift});
    }
  }
  NoteFewest(scene, ways_of, std::move(pairs), shifts);
  for (auto at = shifts.begin(); at != shifts.end(); ++at) {
    const LinkIndex link = at->first.first;
    const auto next = std::next(at);
    const bool both = next != shifts.end() && next->first.first == link;
    Finding finding = FindingOf(
        scene, FindingKind::kAddedLatency,
        {.kind = PlaceKind::kLink, .index = link, .sender = both ? kNone : at->first.second},
        at->second);
    finding.evidence.push_back(
        fmt::format("what {} sends takes {:.1f} us longer than it did, even the quickest of {} "
                    "packets in {} windows",
                    fabric.NameOf(at->first.second), at->second.by / 1000, at->second.packets,
                    at->second.windows));
    if (both) {
      finding.evidence.push_back(
          fmt::format("and so does what {} sends", fabric.NameOf(next->first.second)));
      at = next;
    }
    found.push_back(std::move(finding));
  }
}

// From its switch to a NIC and back: a longer link delays everything, a slow host what has to wait
// for it.
void DetectLateAnswers(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  for (const auto& [key, windows] : scene.parts().delays.delays()) {
    if (key.kind != DelayKind::kTurnaround) continue;
    const PortIndex own = fabric.nic(key.to).port;
    const PortIndex port = fabric.Peer(own);
    Row wait = WaitAt(scene, port);
    AddTo(wait, WaitAt(scene, own));
    if (const auto shift = ShiftOf(scene, windows, wait, Of::kLeast, kMargin)) {
      Finding finding =
          FindingOf(scene, FindingKind::kAddedLatency,
                    {.kind = PlaceKind::kLink, .index = fabric.port(own).link}, *shift);
      finding.evidence.push_back(fmt::format(
          "to {} and back it takes {:.1f} us longer than it did, even for the quickest of "
          "{} packets in {} windows",
          fabric.NameOf(own), shift->by / 1000, shift->packets, shift->windows));
      // A host that takes every frame slowly delays the least too, but by far less than the rest.
      double mean = 0;
      double usual = 0;
      size_t late = 0;
      size_t other = 0;
      for (const DelayWindow& window : windows) {
        const size_t place = scene.PlaceOf(window.window);
        const bool in = place >= shift->first && place <= shift->last;
        (in ? mean : usual) += static_cast<double>(window.Mean());
        ++(in ? late : other);
      }
      mean /= static_cast<double>(std::max<size_t>(late, 1));
      usual /= static_cast<double>(std::max<size_t>(other, 1));
      constexpr double kMostOfIt = 0.5;
      if (other > 0 && shift->by < kMostOfIt * (mean - usual)) {
        finding.kind = FindingKind::kSlowReceiver;
        finding.place = {.kind = PlaceKind::kNic, .index = key.to};
      }
      found.push_back(std::move(finding));
      continue;
    }
    // Twice what a full frame takes at a tenth of 100 Gb/s.
    constexpr int64_t kClearlyLate = 6000;
    if (const auto shift = ShiftOf(scene, windows, wait, Of::kMost, kClearlyLate)) {
      Finding finding = FindingOf(scene, FindingKind::kSlowReceiver,
                                  {.kind = PlaceKind::kNic, .index = key.to}, *shift);
      finding.confidence = 0.9;
      finding.evidence.push_back(
          fmt::format("in {} windows it answered later than the queue in front of it explains",
                      shift->windows));
      found.push_back(std::move(finding));
    }
  }
}

// Notifications that wait: strict priority lets one frame go before them at most.
void DetectLateNotices(const Scene& scene, Findings& found) {
  struct Late {
    uint32_t packets = 0;
    uint32_t of = 0;
    size_t first = SIZE_MAX;
    size_t last = 0;
    size_t verdict = SIZE_MAX;
    uint64_t queued = 0;  // by INT
  };
  constexpr uint32_t kEnough = 3;
  std::map<NodeIndex, Late> late;
  for (const auto& [key, windows] : scene.parts().delays.delays()) {
    if (key.kind != DelayKind::kNotice || key.hops > 2) continue;
    Late& at = late[key.from];
    for (const DelayWindow& window : windows) {
      const size_t place = scene.PlaceOf(window.window);
      at.of += window.count;
      if (window.late == 0 || place >= scene.windows()) continue;
      at.packets += window.late;
      at.first = std::min(at.first, place);
      at.last = std::max(at.last, place);
    }
  }
  // Where all switches put them among data, that is how the fabric is meant.
  const auto& queues = scene.parts().delays.queues();
  const auto apart = std::ranges::count_if(queues, [](const auto& entry) {
    return !entry.second.notices.empty() && entry.second.among_data == 0;
  });
  for (const auto& [node, use] : queues) {
    if (use.among_data == 0 || apart == 0) continue;
    Late& at = late[node];
    at.queued = use.among_data;
    at.first = std::min(at.first, scene.PlaceOf(use.first_window));
    at.last = std::max(at.last, scene.PlaceOf(use.last_window));
    at.verdict = scene.PlaceOf(use.first_window);
  }
  for (const auto& [node, at] : late) {
    if (at.queued == 0 && at.packets < kEnough) continue;
    if (at.first >= scene.windows()) continue;
    Shift shift = {.first = at.first, .last = at.last, .verdict = std::min(at.verdict, at.last)};
    if (at.verdict == SIZE_MAX) {
      // When enough of them had been late.
      std::map<size_t, uint32_t> by_window;
      for (const auto& [key, windows] : scene.parts().delays.delays()) {
        if (key.kind != DelayKind::kNotice || key.from != node || key.hops > 2) continue;
        for (const DelayWindow& window : windows) {
          by_window[scene.PlaceOf(window.window)] += window.late;
        }
      }
      uint32_t sum = 0;
      for (const auto& [place, count] : by_window) {
        sum += count;
        if (sum >= kEnough) {
          shift.verdict = std::min(place, scene.windows() - 1);
          break;
        }
      }
    }
    Finding finding = FindingOf(scene, FindingKind::kDeprioritisedCnps,
                                {.kind = PlaceKind::kSwitch, .index = node}, shift);
    finding.confidence = at.queued > 0 ? 0.98 : 0.85;
    if (at.queued > 0) {
      finding.evidence.push_back(
          fmt::format("INT saw {} notifications in a queue of data, and other switches have one of "
                      "their own for them",
                      at.queued));
    }
    if (at.packets > 0) {
      finding.evidence.push_back(
          fmt::format("{} of {} notifications took longer through it than strict priority allows",
                      at.packets, at.of));
    }
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectDelays(const Scene& scene, Findings& found) {
  DetectLongerLinks(scene, found);
  DetectLateAnswers(scene, found);
  DetectLateNotices(scene, found);
}

}  // namespace rocescope
