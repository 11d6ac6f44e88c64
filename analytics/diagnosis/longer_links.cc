// SPDX-License-Identifier: BSD-3-Clause
// Links that take longer than they did, from one switch to the next.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

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

}  // namespace

void DetectLongerLinks(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  Waits waits(scene);
  Shifts shifts;
  std::vector<Pair> pairs;
  std::map<PortIndex, std::pair<size_t, size_t>> ways_of;  // ways over it: longer, and all
  for (const auto& [key, windows] : scene.parts().delays.by_way) {
    if (key.kind != DelayKind::kTransit && key.kind != DelayKind::kWire) continue;
    const std::vector<PortIndex> way = WayOf(fabric, key);
    if (way.empty()) continue;
    const Row wait = key.kind == DelayKind::kTransit ? waits.Over(way) : Row(scene.windows());
    const auto shift = ShiftOf(scene, windows, wait, Of::kLeast, kLongerMargin);
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

}  // namespace rocescope
