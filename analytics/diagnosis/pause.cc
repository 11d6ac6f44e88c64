// SPDX-License-Identifier: BSD-3-Clause
// Finds the origin of PFC pauses. Pauses lead from a paused port to the congested buffer behind it,
// and end at a NIC that receives too slowly or not at all, or in a cycle of ports.
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
#include "analytics/diagnosis/paused_time.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// Confidence in a NIC that clearly pauses its switch.
constexpr double kSureOfPauses = 0.97;
// A storm is known at the end of its first whole window; it begins within the window before.
constexpr uint32_t kStormWindows = 2;

double ShareOf(const DiagnosisInput& input, uint64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(input.parts().metrics.window().count());
}

bool IsReadAtWindowEnds(const DiagnosisInput& input, PortIndex port, uint8_t priority) {
  return input.IsReadAtWindowEnds(input.EntityOf(port, priority), Metric::kPfcRxTime);
}

// Returns the least share of a window for which a blocked queue counts as paused. Counters that are
// not read at window ends are interpolated, and older than their reading by varying times.
double BlockedRatio(const DiagnosisInput& input, bool is_read_at_ends) {
  constexpr double kInterpolated = 0.9;
  return input.thresholds().blocked_ratio * (is_read_at_ends ? 1 : kInterpolated);
}

bool IsAny(const Row& row) {
  return std::ranges::any_of(row, [](uint64_t value) { return value > 0; });
}

// Windows with pauses, without a long gap between them: [first, last].
struct Episode {
  size_t first = 0;
  size_t last = 0;
};

std::vector<Episode> EpisodesOf(const Row& held, size_t quiet) {
  std::vector<Episode> episodes;
  for (size_t w = 0; w < held.size(); ++w) {
    if (held[w] == 0) continue;
    if (episodes.empty() || w - episodes.back().last > quiet) {
      episodes.push_back({.first = w, .last = w});
    }
    episodes.back().last = w;
  }
  return episodes;
}

// Whether the port counts pause frames, and received none during the episode or next to it.
bool ReceivedNoPauses(const DiagnosisInput& input, PortIndex port, uint8_t priority,
                      const Episode& episode) {
  constexpr size_t kNear = 3;  // windows: the ends are read at different times
  const Entity entity = input.EntityOf(port, priority);
  const MetricSeries* series = input.parts().metrics.Find(entity, Metric::kPfcRx);
  if (series == nullptr || series->restarts() > 0 || episode.last + 1 < episode.first + kNear ||
      series->last_reading() < input.BeginOf(episode.last) ||
      series->first_reading() > input.EndOf(episode.first + kNear - 1)) {
    return false;
  }
  const Row received = input.Growth(entity, Metric::kPfcRx);
  const Row paused = input.Growth(entity, Metric::kPfcRxTime);
  const size_t from = episode.first - std::min(episode.first, kNear);
  const size_t until = std::min(episode.last + 1 + kNear, input.windows());
  for (size_t w = from; w < until; ++w) {
    if (received[w] > 0 || paused[w] > 0) return false;
  }
  return true;
}

// Classifies a NIC that pauses its switch: a PFC storm if it receives nothing, else a slow
// receiver. Empty if the pauses are short.
std::optional<Finding> ClassifyPauses(const DiagnosisInput& input, NicIndex nic, uint8_t priority,
                                      const Row& held, const Row& sent, const Episode& episode) {
  const PortIndex port = input.fabric().Peer(input.fabric().nic(nic).port);
  const double line = input.BytesPerWindow(port);
  const Thresholds& thresholds = input.thresholds();
  // A storm starts within its first window and ends within its last one, so that the NIC received
  // traffic in both. Counters that are not read at window ends are interpolated, so that the next
  // windows contain a part of it too.
  const bool is_read_at_ends = IsReadAtWindowEnds(input, port, priority);
  const size_t ends = is_read_at_ends ? 1 : 2;
  const double blocked = BlockedRatio(input, is_read_at_ends);
  size_t shut = 0;
  size_t open = 0;
  size_t clear = 0;
  std::optional<size_t> first_clear;
  double all = 0;
  for (size_t w = episode.first; w <= episode.last; ++w) {
    const double share = ShareOf(input, held[w]);
    all += share;
    if (share > thresholds.pause_ratio) {
      ++clear;
      if (!first_clear) first_clear = w;
    }
    if (share < blocked) continue;
    if (static_cast<double>(sent[w]) < thresholds.storm_throughput_ratio * line) {
      ++shut;
    } else if (w >= episode.first + ends && w + ends <= episode.last) {
      ++open;
    }
  }
  if (!first_clear) return std::nullopt;
  const size_t whole = episode.last - episode.first + 1;
  // In a long storm, a few windows may contain traffic, or pauses that were counted late.
  const size_t exceptions = whole / 50;
  const bool storm = shut > 0 && shut + 2 * ends + exceptions >= whole && open <= exceptions;
  Finding finding = {
      .kind = storm ? FaultKind::kPfcStorm : FaultKind::kSlowReceiver,
      .place = {.kind = PlaceKind::kNic, .index = nic},
      .confidence = storm ? kSureOfPauses : ConfidenceFromCount(clear, kSureOfPauses),
      .from = input.BeginOf(episode.first),
      .detected_at = input.EndOf(storm ? std::min(episode.first + kStormWindows - 1, episode.last)
                                       : *first_clear)};
  finding.until = input.Until(episode.last);
  finding.evidence.push_back(
      fmt::format("it paused {} in priority {} for {:.0f} % of {}{}", input.fabric().NameOf(port),
                  priority, 100 * all / static_cast<double>(whole), Counted(whole, "window"),
                  storm ? ", in which almost nothing was sent to it"
                        : "; between the pauses it received traffic"));
  if (ReceivedNoPauses(input, port, priority, episode)) {
    Contradict(finding, fmt::format(", but {} received no pause frame: the counter of the NIC is "
                                    "probably wrong",
                                    input.fabric().NameOf(port)));
  }
  return finding;
}

void DetectPausingNic(const DiagnosisInput& input, NicIndex nic, Findings& found) {
  const PortIndex port = input.fabric().Peer(input.fabric().nic(nic).port);
  if (port == kNone) return;
  const auto goes_on_with = [](const Finding& a, const Finding& b) {
    return (!a.until || b.from <= *a.until) && (!b.until || a.from <= *b.until);
  };
  Findings own;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Row held = PausedTime(input, port, priority);
    if (!IsAny(held)) continue;
    const Row sent = input.Growth(input.EntityOf(port), Metric::kTxBytes);
    for (const Episode& episode : EpisodesOf(held, input.thresholds().quiet_windows)) {
      std::optional<Finding> judged = ClassifyPauses(input, nic, priority, held, sent, episode);
      if (!judged) continue;
      // Pauses in several priorities at the same time are one fault; a storm takes precedence.
      const auto same = std::ranges::find_if(
          own, [&](const Finding& other) { return goes_on_with(other, *judged); });
      if (same == own.end()) {
        own.push_back(*std::move(judged));
      } else if (same->kind == FaultKind::kSlowReceiver && judged->kind == FaultKind::kPfcStorm) {
        *same = *std::move(judged);
      }
    }
  }
  std::ranges::move(own, std::back_inserter(found));
}

// A queue of a switch that the next switch pauses.
struct Held {
  PortIndex port = kNone;
  uint8_t priority = 0;
  bool is_read_at_ends = true;
  std::vector<bool> shut;  // by window
};

// Ports that wait for each other. The queue of each port is paused by the switch that has the ports
// it waits for. Numbers are indices of paused queues.
class WaitGraph {
 public:
  WaitGraph(const DiagnosisInput& input, const std::vector<Held>& all)
      : all_(all), behind_(all.size()) {
    std::map<std::pair<NodeIndex, uint8_t>, std::vector<size_t>> at;
    for (size_t i = 0; i < all.size(); ++i) {
      at[{input.fabric().port(all[i].port).node, all[i].priority}].push_back(i);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const auto next = at.find({input.fabric().PeerNode(all[i].port), all[i].priority});
      if (next == at.end()) continue;
      for (const size_t to : next->second) {
        if (input.fabric().Peer(all[to].port) != all[i].port) behind_[i].push_back(to);
      }
    }
  }

  // Groups of queues that wait for each other in cycles in this window; each group ascending.
  std::vector<std::vector<size_t>> CyclesIn(size_t window) const {
    std::vector<bool> in(all_.size());
    for (size_t i = 0; i < all_.size(); ++i) in[i] = all_[i].shut[window];
    // Removes queues that wait for no queue, or that no queue waits for: they are in no cycle.
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
    std::vector<std::vector<size_t>> cycles;
    for (auto& [root, group] : groups) cycles.push_back(std::move(group));
    return cycles;
  }

  // The shortest cycle within the group that contains its first possible member.
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
  std::vector<std::vector<size_t>> behind_;  // by queue: the queues that it waits for
};

// Switches above the NIC: its packets reach them on up-links only, and they reach the NIC on
// down-links only.
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

// Whether a flow with an irregular path sent data through the loop: at one of its ports, packets
// longer than ACKs and CNPs went down towards a wrong switch, or up again after they came down. If
// taps report no ports or no lengths, the mean packet length of the flow decides.
bool Feeds(const DiagnosisInput& input, const FlowPath& path, const PathInterval& stretch,
           const std::vector<PortIndex>& loop) {
  const topology::Fabric& fabric = input.fabric();
  const bool is_large =
      stretch.bytes > uint64_t{input.thresholds().small_packet_bytes} * stretch.packets;
  if (path.source == kNone || path.destination == kNone) return false;
  const std::set<NodeIndex> above_source = Above(fabric, path.source);
  const std::set<NodeIndex> above_destination = Above(fabric, path.destination);
  bool is_placed = false;
  for (const PathShare& share : stretch.shares) {
    const NodeIndex node = fabric.port(share.port).node;
    const NodeIndex peer = fabric.PeerNode(share.port);
    is_placed |= fabric.node(node).IsSwitch();
    if (std::ranges::find(loop, share.port) == loop.end()) continue;
    if (share.bytes == 0 ? !is_large : share.bytes <= input.thresholds().control_packet_bytes)
      continue;
    const bool leads_up = fabric.node(peer).tier > fabric.node(node).tier;
    if (leads_up ? !above_source.contains(node) : !above_destination.contains(peer)) return true;
  }
  return !is_placed && is_large;
}

// Flows that cause the deadlock: they came down to a switch of the loop and went up again, which no
// valid path in a Clos fabric does.
std::vector<FlowKey> FlowsWithin(const DiagnosisInput& input, const std::vector<PortIndex>& loop,
                                 Timestamp from, Timestamp until) {
  std::vector<FlowKey> flows;
  for (const FlowPath& path : input.parts().paths) {
    const bool feeds = std::ranges::any_of(path.intervals, [&](const PathInterval& stretch) {
      return stretch.state == PathState::kStray && stretch.from <= until && stretch.until >= from &&
             Feeds(input, path, stretch, loop);
    });
    if (feeds) flows.push_back(path.flow);
  }
  return flows;
}

// A switch that answers a poll from its cache reports no pause since the last one, so that one or
// two windows lack it. If a queue was paused all the time before and after them, it was paused in
// them, too.
void FillGaps(std::vector<bool>& shut) {
  constexpr size_t kMost = 2;  // windows
  size_t open = shut.size();   // windows since the last one that is shut; at first: unlimited
  for (size_t w = 0; w < shut.size(); ++w) {
    if (!shut[w]) {
      open += open < shut.size();
      continue;
    }
    for (size_t gap = 1; open <= kMost && gap <= open; ++gap) shut[w - gap] = true;
    open = 0;
  }
}

// Windows for which the counters of a cycle must show it, if they are interpolated.
constexpr uint32_t kInterpolatedWindows = 2;

void DetectDeadlock(const DiagnosisInput& input, Findings& found) {
  std::vector<Held> all;
  for (PortIndex port = 0; port < input.fabric().ports().size(); ++port) {
    const topology::NodeIndex peer = input.fabric().PeerNode(port);
    if (peer == kNone || !input.fabric().node(peer).IsSwitch() ||
        !input.fabric().node(input.fabric().port(port).node).IsSwitch()) {
      continue;
    }
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Row held = PausedTime(input, port, priority);
      if (!IsAny(held)) continue;
      Held one{.port = port,
               .priority = priority,
               .is_read_at_ends = IsReadAtWindowEnds(input, port, priority),
               .shut = std::vector<bool>(held.size())};
      const double blocked = BlockedRatio(input, one.is_read_at_ends);
      for (size_t w = 0; w < held.size(); ++w) one.shut[w] = ShareOf(input, held[w]) >= blocked;
      if (!one.is_read_at_ends) FillGaps(one.shut);
      all.push_back(std::move(one));
    }
  }
  const WaitGraph graph(input, all);
  struct Deadlock {
    std::vector<size_t> loop;
    std::set<NodeIndex> nodes;  // nodes of all its windows
    size_t first = 0;
    size_t behind = 0;
  };
  std::vector<Deadlock> deadlocks;
  for (size_t w = 0; w < input.windows(); ++w) {
    for (const std::vector<size_t>& group : graph.CyclesIn(w)) {
      std::set<NodeIndex> nodes;
      for (const size_t i : group) nodes.insert(input.fabric().port(all[i].port).node);
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
    // One interpolated window can contain pauses of others.
    const bool is_exact =
        std::ranges::all_of(deadlock.loop, [&](size_t i) { return all[i].is_read_at_ends; });
    const size_t least = is_exact ? 1 : kInterpolatedWindows;
    if (deadlock.behind - deadlock.first < least) continue;
    Finding finding = {.kind = FaultKind::kPfcDeadlock,
                       .place = {.kind = PlaceKind::kLink},
                       .confidence = 0.95,
                       .from = input.BeginOf(deadlock.first),
                       .detected_at = input.EndOf(deadlock.first + least - 1)};
    if (deadlock.behind < input.windows()) finding.until = input.EndOf(deadlock.behind - 1);
    for (const size_t i : deadlock.loop) finding.loop.push_back(all[i].port);
    // Starts with the smallest port, so that a loop has one name.
    std::ranges::rotate(finding.loop, std::ranges::min_element(finding.loop));
    finding.place.index = input.fabric().port(finding.loop[0]).link;
    finding.place.sender = finding.loop[0];
    // These flows took the valley route before the deadlock was complete.
    finding.culprits = FlowsWithin(
        input, finding.loop,
        finding.from - input.thresholds().deadlock_lead_windows * input.parts().metrics.window(),
        input.EndOf(deadlock.behind - 1));
    std::vector<std::string> names;
    for (const PortIndex port : finding.loop) names.push_back(input.fabric().NameOf(port));
    finding.evidence.push_back(fmt::format(
        "{} pause each other in priority {}, continuously for {}", fmt::join(names, " > "),
        all[deadlock.loop[0]].priority, Counted(deadlock.behind - deadlock.first, "window")));
    found.push_back(std::move(finding));
  }
}

}  // namespace

void DetectPauses(const DiagnosisInput& input, Findings& found) {
  for (NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    DetectPausingNic(input, nic, found);
  }
  DetectDeadlock(input, found);
}

TimeToDetection TimeToDetectPauses(FaultKind kind, const Thresholds& thresholds) {
  const std::string blocked =
      fmt::format("paused for {:.0f} % of a window", 100 * thresholds.blocked_ratio);
  if (kind == FaultKind::kPfcDeadlock) {
    return {.interpolated_windows = kInterpolatedWindows,
            .signs = fmt::format(
                "ports in a cycle, {}; {} windows if counters are not read at window ends", blocked,
                kInterpolatedWindows)};
  }
  if (kind == FaultKind::kPfcStorm) {
    return {.windows = kStormWindows,
            .signs = fmt::format("{}, with less than {:.0f} % of the line rate", blocked,
                                 100 * thresholds.storm_throughput_ratio)};
  }
  return {.windows = static_cast<uint32_t>(LeastCountFor(kLeastConfidence, kSureOfPauses)),
          .signs = fmt::format("pauses of more than {:.0f} % of each of these windows",
                               100 * thresholds.pause_ratio)};
}

}  // namespace rocescope
