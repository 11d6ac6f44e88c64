// SPDX-License-Identifier: BSD-3-Clause
// Who stops whom by PFC, and who began: a pause is followed from the port that is held to what
// fills the buffer behind it. It ends at a NIC that takes too little, or nothing, or in a loop.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "analytics/diagnosis/detectors.h"
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

// A NIC that holds its switch: always, whatever comes, or as far as it cannot take more.
void DetectHolding(const Scene& scene, NicIndex nic, Findings& found) {
  const PortIndex port = scene.fabric().Peer(scene.fabric().nic(nic).port);
  if (port == kNone) return;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Row held = HeldFor(scene, port, priority);
    if (!IsAny(held)) continue;
    const Row sent = scene.Growth(scene.EntityOf(port), Metric::kTxBytes);
    const double line = scene.OctetsAWindow(port);
    size_t first = 0;
    while (held[first] == 0) ++first;
    size_t last = held.size() - 1;
    while (held[last] == 0) --last;
    // Whoever takes a little sends as much as that; whoever takes nothing passes at most what a
    // window began with and what needs no credit, such as ACKs.
    constexpr double kNothing = 0.02;
    size_t shut = 0;
    size_t open = 0;
    double all = 0;
    for (size_t w = first; w <= last; ++w) {
      const double share = ShareOf(scene, held[w]);
      all += share;
      if (share >= kAllOfIt) {
        ++(static_cast<double>(sent[w]) < kNothing * line ? shut : open);
      }
    }
    // In its first window a storm has begun in the midst, and in its last it ends.
    const size_t whole = last - first + 1;
    const bool storm = shut > 0 && shut + 2 >= whole && open == 0;
    Finding finding = {.kind = storm ? FindingKind::kPfcStorm : FindingKind::kSlowReceiver,
                       .place = {.kind = PlaceKind::kNic, .index = nic},
                       .confidence = 0.97,
                       .from = scene.BeginOf(first),
                       .verdict = scene.EndOf(storm ? std::min(first + 1, last) : first)};
    finding.until = scene.Until(last);
    finding.evidence.push_back(fmt::format(
        "it held {} by PFC in priority {} for {:.0f} % of {}{}", scene.fabric().NameOf(port),
        priority, 100 * all / static_cast<double>(whole), Counted(whole, "window"),
        storm ? ", in which next to nothing was sent to it"
              : "; between pauses it took what came"));
    found.push_back(std::move(finding));
    return;
  }
}

struct Held {
  PortIndex port = kNone;
  uint8_t priority = 0;
  std::vector<bool> shut;  // by window
};

// A loop of ports, each of whose queues is held by a switch that has the next one.
std::vector<size_t> LoopIn(const Scene& scene, const std::vector<Held>& all, size_t window) {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(all.size(), Mark::kNew);
  std::vector<size_t> way;
  std::vector<size_t> loop;
  const std::function<bool(size_t)> visit = [&](size_t at) {
    marks[at] = Mark::kOpen;
    way.push_back(at);
    const topology::NodeIndex node = scene.fabric().PeerNode(all[at].port);
    for (size_t next = 0; next < all.size(); ++next) {
      if (!all[next].shut[window] || all[next].priority != all[at].priority ||
          scene.fabric().port(all[next].port).node != node ||
          scene.fabric().Peer(all[next].port) == all[at].port) {
        continue;
      }
      if (marks[next] == Mark::kOpen) {
        loop.assign(std::ranges::find(way, next), way.end());
        return true;
      }
      if (marks[next] == Mark::kNew && visit(next)) return true;
    }
    way.pop_back();
    marks[at] = Mark::kDone;
    return false;
  };
  for (size_t at = 0; at < all.size(); ++at) {
    if (all[at].shut[window] && marks[at] == Mark::kNew && visit(at)) return loop;
  }
  return {};
}

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
bool Feeds(const Scene& scene, const FlowPath& path, const PathStretch& stretch,
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
    if (share.octets == 0 ? !is_large : share.octets <= kControl) continue;
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
    const bool feeds = std::ranges::any_of(path.stretches, [&](const PathStretch& stretch) {
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
  for (size_t w = 0; w < scene.windows(); ++w) {
    const std::vector<size_t> loop = LoopIn(scene, all, w);
    if (loop.empty()) continue;
    size_t behind = w + 1;
    while (behind < scene.windows() && !LoopIn(scene, all, behind).empty()) ++behind;
    Finding finding = {.kind = FindingKind::kPfcDeadlock,
                       .place = {.kind = PlaceKind::kLink},
                       .confidence = 0.95,
                       .from = scene.BeginOf(w),
                       .verdict = scene.EndOf(w)};
    if (behind < scene.windows()) finding.until = scene.EndOf(behind - 1);
    for (const size_t i : loop) finding.loop.push_back(all[i].port);
    // Begin with the least, so that a loop has one name.
    std::ranges::rotate(finding.loop, std::ranges::min_element(finding.loop));
    finding.place.index = scene.fabric().port(finding.loop[0]).link;
    finding.place.sender = finding.loop[0];
    // They bounced before it stood.
    constexpr int kBefore = 10;
    finding.culprits =
        FlowsWithin(scene, finding.loop, finding.from - kBefore * scene.parts().metrics.window(),
                    scene.EndOf(behind - 1));
    std::vector<std::string> names;
    for (const PortIndex port : finding.loop) names.push_back(scene.fabric().NameOf(port));
    finding.evidence.push_back(
        fmt::format("{} hold each other in priority {}, all of the time for {}",
                    fmt::join(names, " > "), all[loop[0]].priority, Counted(behind - w, "window")));
    found.push_back(std::move(finding));
    return;
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
