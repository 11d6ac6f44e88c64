// SPDX-License-Identifier: BSD-3-Clause
// Who stops whom by PFC, and who began: a pause is followed from the port that is held to what
// fills the buffer behind it. It ends at a NIC that takes too little, or nothing, or in a loop.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analytics/connection/disjoint_sets.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

constexpr double kAllOfIt = 0.95;  // of a window held: it hardly moves

double ShareOf(const Scene& scene, uint64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(scene.parts().metrics.window().count());
}

// How long the port's queue was held in each window, as it says or the one that holds it.
Row HeldFor(const Scene& scene, PortIndex port, uint8_t priority) {
  Row held = scene.Growth(scene.EntityOf(port, priority), Metric::kPfcRxTime);
  const PortIndex peer = scene.fabric().Peer(port);
  if (peer != kNone && !scene.Tells(scene.EntityOf(port, priority), Metric::kPfcRxTime)) {
    held = scene.Growth(scene.EntityOf(peer, priority), Metric::kPfcTxTime);
  }
  return held;
}

bool IsAny(const Row& row) {
  return std::ranges::any_of(row, [](uint64_t value) { return value > 0; });
}

// Windows with pauses and none that is long without: [first, last].
struct Episode {
  size_t first = 0;
  size_t last = 0;
};

std::vector<Episode> EpisodesOf(const Row& held) {
  constexpr size_t kCalm = 4;
  std::vector<Episode> episodes;
  for (size_t w = 0; w < held.size(); ++w) {
    if (held[w] == 0) continue;
    if (episodes.empty() || w - episodes.back().last > kCalm) {
      episodes.push_back({.first = w, .last = w});
    }
    episodes.back().last = w;
  }
  return episodes;
}

// What a NIC that holds its switch's port in the episode is: it takes nothing, whatever comes, or
// less than comes. Nothing if it hardly held it.
std::optional<Finding> JudgeHolding(const Scene& scene, NicIndex nic, uint8_t priority,
                                    const Row& held, const Row& sent, const Episode& episode) {
  const PortIndex port = scene.fabric().Peer(scene.fabric().nic(nic).port);
  const double line = scene.BytesAWindow(port);
  // A pause now and then is what PFC is for; service levels allow as much.
  constexpr double kLittle = 0.02;
  // Whoever takes a little sends as much as that; whoever takes nothing passes at most what a
  // window began with and what needs no credit, such as ACKs.
  constexpr double kNothing = 0.02;
  size_t shut = 0;
  size_t open = 0;
  size_t clear = 0;
  std::optional<size_t> first_clear;
  double all = 0;
  for (size_t w = episode.first; w <= episode.last; ++w) {
    const double share = ShareOf(scene, held[w]);
    all += share;
    if (share > kLittle) {
      ++clear;
      if (!first_clear) first_clear = w;
    }
    if (share < kAllOfIt) continue;
    if (static_cast<double>(sent[w]) < kNothing * line) {
      ++shut;
    } else if (w != episode.first && w != episode.last) {
      ++open;
    }
  }
  if (!first_clear) return std::nullopt;
  // In its first window a storm has begun in the midst, and in its last it ends: before and behind
  // it the NIC took what came.
  const size_t whole = episode.last - episode.first + 1;
  const bool storm = shut > 0 && shut + 2 >= whole && open == 0;
  Finding finding = {
      .kind = storm ? FindingKind::kPfcStorm : FindingKind::kSlowReceiver,
      .place = {.kind = PlaceKind::kNic, .index = nic},
      .confidence = storm ? 0.97 : ConfidenceFromCount(clear, 0.97),
      .from = scene.BeginOf(episode.first),
      .verdict = scene.EndOf(storm ? std::min(episode.first + 1, episode.last) : *first_clear)};
  finding.until = scene.Until(episode.last);
  finding.evidence.push_back(fmt::format(
      "it held {} by PFC in priority {} for {:.0f} % of {}{}", scene.fabric().NameOf(port),
      priority, 100 * all / static_cast<double>(whole), Counted(whole, "window"),
      storm ? ", in which next to nothing was sent to it" : "; between pauses it took what came"));
  return finding;
}

void DetectHolding(const Scene& scene, NicIndex nic, Findings& found) {
  const PortIndex port = scene.fabric().Peer(scene.fabric().nic(nic).port);
  if (port == kNone) return;
  const auto goes_on_with = [](const Finding& a, const Finding& b) {
    return (!a.until || b.from <= *a.until) && (!b.until || a.from <= *b.until);
  };
  Findings own;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Row held = HeldFor(scene, port, priority);
    if (!IsAny(held)) continue;
    const Row sent = scene.Growth(scene.EntityOf(port), Metric::kTxBytes);
    for (const Episode& episode : EpisodesOf(held)) {
      std::optional<Finding> judged = JudgeHolding(scene, nic, priority, held, sent, episode);
      if (!judged) continue;
      // Other priorities at the same time are the same story: a storm rather than less.
      const auto same = std::ranges::find_if(
          own, [&](const Finding& other) { return goes_on_with(other, *judged); });
      if (same == own.end()) {
        own.push_back(*std::move(judged));
      } else if (same->kind == FindingKind::kSlowReceiver &&
                 judged->kind == FindingKind::kPfcStorm) {
        *same = *std::move(judged);
      }
    }
  }
  std::ranges::move(own, std::back_inserter(found));
}

// A queue of a switch that the next switch holds.
struct Held {
  PortIndex port = kNone;
  uint8_t priority = 0;
  std::vector<bool> shut;  // by window
};

// Ports that wait for each other in a circle: each one's queue is held by the switch that has the
// next one. Numbers are places among all that are ever held.
class WaitGraph {
 public:
  WaitGraph(const Scene& scene, const std::vector<Held>& all) : all_(all), behind_(all.size()) {
    std::map<std::pair<NodeIndex, uint8_t>, std::vector<size_t>> at;
    for (size_t i = 0; i < all.size(); ++i) {
      at[{scene.fabric().port(all[i].port).node, all[i].priority}].push_back(i);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const auto next = at.find({scene.fabric().PeerNode(all[i].port), all[i].priority});
      if (next == at.end()) continue;
      for (const size_t to : next->second) {
        if (scene.fabric().Peer(all[to].port) != all[i].port) behind_[i].push_back(to);
      }
    }
  }

  // Of all that waits in circles in the window, by who waits for whom: the groups, each ascending.
  std::vector<std::vector<size_t>> CirclesIn(size_t window) const {
    std::vector<bool> in(all_.size());
    for (size_t i = 0; i < all_.size(); ++i) in[i] = all_[i].shut[window];
    // Whoever waits for nobody, or is waited for by nobody, is in no circle.
    for (bool is_settled = false; !is_settled;) {
      is_settled = true;
      std::vector<bool> is_waited_for(all_.size());
      for (size_t i = 0; i < all_.size(); ++i) {
        if (!in[i]) continue;
        bool waits = false;
        for (const size_t to : behind_[i]) {
          if (!in[to]) continue;
          waits = true;
          is_waited_for[to] = true;
        }
        if (!waits) {
          in[i] = false;
          is_settled = false;
        }
      }
      for (size_t i = 0; i < all_.size(); ++i) {
        if (!in[i] || is_waited_for[i]) continue;
        in[i] = false;
        is_settled = false;
      }
    }
    DisjointSets sets(all_.size());
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!in[i]) continue;
      for (const size_t to : behind_[i]) {
        if (in[to]) sets.Join(static_cast<uint32_t>(i), static_cast<uint32_t>(to));
      }
    }
    std::map<uint32_t, std::vector<size_t>> groups;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (in[i]) groups[sets.RootOf(static_cast<uint32_t>(i))].push_back(i);
    }
    std::vector<std::vector<size_t>> circles;
    for (auto& [root, group] : groups) circles.push_back(std::move(group));
    return circles;
  }

  // The shortest way round within the group, from the first member that is on one.
  std::vector<size_t> LoopWithin(const std::vector<size_t>& group) const {
    for (const size_t start : group) {
      std::map<size_t, size_t> before = {{start, start}};
      std::vector<size_t> open = {start};
      for (size_t next = 0; next < open.size(); ++next) {
        for (const size_t to : behind_[open[next]]) {
          if (to == start) {
            std::vector<size_t> loop;
            for (size_t at = open[next]; at != start; at = before.at(at)) loop.push_back(at);
            loop.push_back(start);
            std::ranges::reverse(loop);
            return loop;
          }
          if (!std::ranges::binary_search(group, to)) continue;
          if (before.try_emplace(to, open[next]).second) open.push_back(to);
        }
      }
    }
    return {};
  }

 private:
  const std::vector<Held>& all_;
  std::vector<std::vector<size_t>> behind_;  // who is waited for by each
};

// Switches that what the NIC sends may come to by going up alone, and what it gets comes from by
// going down alone.
std::set<NodeIndex> Above(const topology::Fabric& fabric, NicIndex nic) {
  std::set<NodeIndex> above;
  std::vector<NodeIndex> open = {fabric.PeerNode(fabric.nic(nic).port)};
  while (!open.empty()) {
    const NodeIndex node = open.back();
    open.pop_back();
    if (node == kNone || !above.insert(node).second) continue;
    for (uint32_t i = 0; i < fabric.node(node).port_count; ++i) {
      const NodeIndex peer = fabric.PeerNode(fabric.node(node).first_port + i);
      if (peer != kNone && fabric.node(peer).tier > fabric.node(node).tier) open.push_back(peer);
    }
  }
  return above;
}

// Whether a flow that strayed did so in the loop, and with data: at one of its ports packets longer
// than ACKs and notifications went down to where their receiver is not, or up from where they can
// only have come down to. Where no switch's port is named, or not how long they were, all of the
// flow's packets say whether it has data.
bool Feeds(const Scene& scene, const FlowPath& path, const PathInterval& stretch,
           const std::vector<PortIndex>& loop) {
  constexpr uint32_t kControl = 78;  // octets of a CNP, with a VLAN's tag; ACKs have less
  constexpr uint64_t kSmall = 256;
  const topology::Fabric& fabric = scene.fabric();
  const bool is_large = stretch.bytes > kSmall * stretch.packets;
  if (path.source == kNone || path.destination == kNone) return false;
  const std::set<NodeIndex> above_source = Above(fabric, path.source);
  const std::set<NodeIndex> above_destination = Above(fabric, path.destination);
  bool is_placed = false;
  for (const PathShare& share : stretch.shares) {
    const NodeIndex node = fabric.port(share.port).node;
    const NodeIndex peer = fabric.PeerNode(share.port);
    is_placed |= fabric.node(node).IsSwitch();
    if (std::ranges::find(loop, share.port) == loop.end()) continue;
    if (share.bytes == 0 ? !is_large : share.bytes <= kControl) continue;
    const bool leads_up = fabric.node(peer).tier > fabric.node(node).tier;
    if (leads_up ? !above_source.contains(node) : !above_destination.contains(peer)) return true;
  }
  return !is_placed && is_large;
}

// Flows that feed the loop: they came down to a switch of it and went up again, which no way
// through a Clos does.
std::vector<FlowKey> FlowsWithin(const Scene& scene, const std::vector<PortIndex>& loop,
                                 Timestamp from, Timestamp until) {
  std::vector<FlowKey> flows;
  for (const FlowPath& path : scene.parts().paths) {
    const bool feeds = std::ranges::any_of(path.intervals, [&](const PathInterval& stretch) {
      return stretch.state == PathState::kStray && stretch.from <= until && stretch.until >= from &&
             Feeds(scene, path, stretch, loop);
    });
    if (feeds) flows.push_back(path.flow);
  }
  return flows;
}

void DetectDeadlock(const Scene& scene, Findings& found) {
  std::vector<Held> all;
  for (PortIndex port = 0; port < scene.fabric().ports().size(); ++port) {
    const topology::NodeIndex peer = scene.fabric().PeerNode(port);
    if (peer == kNone || !scene.fabric().node(peer).IsSwitch() ||
        !scene.fabric().node(scene.fabric().port(port).node).IsSwitch()) {
      continue;
    }
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Row held = HeldFor(scene, port, priority);
      if (!IsAny(held)) continue;
      Held one{.port = port, .priority = priority, .shut = std::vector<bool>(held.size())};
      for (size_t w = 0; w < held.size(); ++w) one.shut[w] = ShareOf(scene, held[w]) >= kAllOfIt;
      all.push_back(std::move(one));
    }
  }
  const WaitGraph graph(scene, all);
  struct Deadlock {
    std::vector<size_t> loop;
    std::set<NodeIndex> nodes;  // that have a part in it, in whatever window
    size_t first = 0;
    size_t behind = 0;
  };
  std::vector<Deadlock> deadlocks;
  for (size_t w = 0; w < scene.windows(); ++w) {
    for (const std::vector<size_t>& group : graph.CirclesIn(w)) {
      std::set<NodeIndex> nodes;
      for (const size_t i : group) nodes.insert(scene.fabric().port(all[i].port).node);
      const auto same = std::ranges::find_if(deadlocks, [&](const Deadlock& deadlock) {
        return deadlock.behind >= w && std::ranges::any_of(nodes, [&](NodeIndex node) {
                 return deadlock.nodes.contains(node);
               });
      });
      if (same != deadlocks.end()) {
        same->behind = w + 1;
        same->nodes.merge(nodes);
        continue;
      }
      std::vector<size_t> loop = graph.LoopWithin(group);
      if (loop.empty()) continue;
      deadlocks.push_back(
          {.loop = std::move(loop), .nodes = std::move(nodes), .first = w, .behind = w + 1});
    }
  }
  for (const Deadlock& deadlock : deadlocks) {
    Finding finding = {.kind = FindingKind::kPfcDeadlock,
                       .place = {.kind = PlaceKind::kLink},
                       .confidence = 0.95,
                       .from = scene.BeginOf(deadlock.first),
                       .verdict = scene.EndOf(deadlock.first)};
    if (deadlock.behind < scene.windows()) finding.until = scene.EndOf(deadlock.behind - 1);
    for (const size_t i : deadlock.loop) finding.loop.push_back(all[i].port);
    // Begin with the least, so that a loop has one name.
    std::ranges::rotate(finding.loop, std::ranges::min_element(finding.loop));
    finding.place.index = scene.fabric().port(finding.loop[0]).link;
    finding.place.sender = finding.loop[0];
    // They bounced before it stood.
    constexpr int kBefore = 10;
    finding.culprits =
        FlowsWithin(scene, finding.loop, finding.from - kBefore * scene.parts().metrics.window(),
                    scene.EndOf(deadlock.behind - 1));
    std::vector<std::string> names;
    for (const PortIndex port : finding.loop) names.push_back(scene.fabric().NameOf(port));
    finding.evidence.push_back(fmt::format(
        "{} hold each other in priority {}, all of the time for {}", fmt::join(names, " > "),
        all[deadlock.loop[0]].priority, Counted(deadlock.behind - deadlock.first, "window")));
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectPauses(const Scene& scene, Findings& found) {
  for (NicIndex nic = 0; nic < scene.fabric().nics().size(); ++nic) {
    DetectHolding(scene, nic, found);
  }
  DetectDeadlock(scene, found);
}

}  // namespace rocescope
