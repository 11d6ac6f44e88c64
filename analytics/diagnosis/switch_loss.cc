// SPDX-License-Identifier: BSD-3-Clause
// Frames that a switch received were sent, counted as dropped, or are still queued. The rest is
// lost.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/cnp_queue.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "analytics/diagnosis/link_history.h"
#include "analytics/diagnosis/loss_signs.h"
#include "analytics/diagnosis/maintenance.h"
#include "analytics/diagnosis/switch_balance.h"
#include "analytics/diagnosis/unusable_counters.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;

// Confidence in a blackhole if nothing shows what a switch loses.
constexpr double kUndecided = 0.6;
// Confidence in an MTU mismatch after many MTU drops.
constexpr double kSureOfMtu = 0.99;

// NICs that may have sent or received CNPs: those with a known path or with non-zero counters.
std::vector<bool> ActiveNics(const DiagnosisInput& input) {
  std::vector<bool> talk(input.fabric().nics().size());
  for (const FlowPath& path : input.parts().paths) {
    for (const topology::NicIndex nic : {path.source, path.destination}) {
      if (nic != kNone) talk[nic] = true;
    }
  }
  for (topology::NicIndex nic = 0; nic < talk.size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    for (const Metric metric :
         {Metric::kTxPackets, Metric::kRxPackets, Metric::kCnpSent, Metric::kCnpHandled}) {
      const Row row = input.Growth(entity, metric);
      if (std::ranges::any_of(row, [](uint64_t packets) { return packets > 0; })) talk[nic] = true;
    }
  }
  return talk;
}

// CNPs that were sent and not handled, over the whole fabric from a window on. Negative if more
// CNPs were handled than sent since then.
struct LostCnps {
  int64_t packets = 0;
  // CNPs that may have been in flight, or were counted by one NIC and not yet by the other, because
  // NICs are read at different times.
  int64_t uncertainty = 0;
};

// Unset if an active NIC does not report both counters.
std::optional<LostCnps> LostCnpsSince(const DiagnosisInput& input, size_t from) {
  LostCnps lost;
  std::optional<Entity> first;
  bool simultaneous = true;
  int64_t last_windows = 0;
  const std::vector<bool> talk = ActiveNics(input);
  for (topology::NicIndex nic = 0; nic < talk.size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    if (!talk[nic]) continue;
    if (!input.HasMetric(entity, Metric::kCnpSent) ||
        !input.HasMetric(entity, Metric::kCnpHandled)) {
      return std::nullopt;
    }
    if (!first) first = entity;
    simultaneous = simultaneous &&
                   input.AreSimultaneous(*first, Metric::kCnpSent, entity, Metric::kCnpHandled);
    const Row sent = input.Growth(entity, Metric::kCnpSent);
    const Row handled = input.Growth(entity, Metric::kCnpHandled);
    uint64_t most = 0;
    size_t unknown = 0;  // windows in which the NIC restarted
    for (size_t w = from; w < sent.size(); ++w) {
      unknown += !input.IsKnown(entity, Metric::kCnpSent, w) ||
                 !input.IsKnown(entity, Metric::kCnpHandled, w);
      lost.packets += static_cast<int64_t>(sent[w]) - static_cast<int64_t>(handled[w]);
      most = std::max({most, sent[w], handled[w]});
    }
    last_windows += static_cast<int64_t>(most);
    lost.uncertainty += static_cast<int64_t>(unknown * most);
  }
  if (!first) return std::nullopt;
  // Readings differ by at most one window at the start and at the end.
  if (!simultaneous) lost.uncertainty += 2 * last_windows;
  return lost;
}

// Mean length of the lost frames in bytes; unset if it is not known well enough. All ports of a
// switch are read at the same time, so that their bytes balance like their frames.
std::optional<double> LengthOfLost(const DiagnosisInput& input, NodeIndex node, const Loss& loss) {
  constexpr uint64_t kEnough = 100'000;  // lost frames, so that full buffers hardly matter
  if (loss.frames < kEnough) return std::nullopt;
  double bytes = 0;
  double frames = 0;
  uint64_t counted = 0;
  const topology::Node& of = input.fabric().node(node);
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (input.fabric().port(of.first_port + i).link == kNone) continue;
    const Entity entity = input.EntityOf(of.first_port + i);
    // Over the windows with losses.
    const auto sum = [&](Metric metric) {
      const Row row = input.Growth(entity, metric);
      uint64_t all = 0;
      for (size_t w = loss.first; w <= loss.last; ++w) all += row[w];
      return all;
    };
    if (!input.HasMetric(entity, Metric::kRxBytes) || !input.HasMetric(entity, Metric::kTxBytes)) {
      return std::nullopt;
    }
    bytes +=
        static_cast<double>(sum(Metric::kRxBytes)) - static_cast<double>(sum(Metric::kTxBytes));
    frames +=
        static_cast<double>(sum(Metric::kRxPackets)) - static_cast<double>(sum(Metric::kTxPackets));
    for (const Metric metric : kCountedDrops) counted += sum(metric);
  }
  constexpr double kLongest = 9216;
  const double length = bytes / frames;
  const bool plausible = frames > 0 && length >= kShortestFrame && length <= kLongest;
  return plausible && 20 * counted < loss.frames ? std::optional(length) : std::nullopt;
}

using Retransmitted = std::map<std::pair<Segment, IpAddress>, uint64_t>;

// Retransmitted packets of flows that pass the node, by destination.
Retransmitted RetransmittedThrough(const DiagnosisInput& input, NodeIndex node) {
  Retransmitted again;
  const FlowSummaries& flows = input.parts().flows;
  const FlowPaths& paths = input.parts().paths;
  size_t at = 0;
  for (size_t i = 0; i < flows.size(); ++i) {
    while (at < paths.size() && paths[at].flow < flows[i].flow) ++at;
    if (at == paths.size()) break;
    const FlowKey& flow = flows[i].flow;
    const uint64_t packets = flows[i].total.retransmitted + flows[i].total.reordered;
    if (packets == 0 || paths[at].flow != flow) continue;
    const bool passes = std::ranges::any_of(paths[at].intervals, [&](const PathInterval& stretch) {
      return std::ranges::any_of(stretch.certain, [&](topology::PortIndex port) {
        return input.fabric().port(port).node == node;
      });
    });
    if (passes) again[{flow.segment, flow.destination}] += packets;
  }
  return again;
}

// "host4:mlx5_0, host4:mlx5_1, host5:mlx5_0 and 2 more": the destinations of most packets, the most
// frequent first. Destinations of very few packets are left out, as these were lost elsewhere.
std::string DestinationsOf(const DiagnosisInput& input, const Retransmitted& again) {
  constexpr uint64_t kFew = 20;  // times fewer packets than the first destination
  constexpr size_t kMost = 3;
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [end, packets] : again) {
    const topology::NicIndex nic =
        input.fabric().FindNic({.segment = end.first, .address = end.second});
    order.emplace_back(packets,
                       nic == topology::kNone
                           ? ToString(end.second)
                           : NameOf(input.fabric(), {.kind = PlaceKind::kNic, .index = nic}));
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  while (order.back().first * kFew < order.front().first) order.pop_back();
  std::string text;
  for (size_t i = 0; i < std::min(order.size(), kMost); ++i) {
    if (i > 0) text += i + 1 == order.size() ? " and " : ", ";
    text += order[i].second;
  }
  if (order.size() > kMost) text += fmt::format(" and {} more", order.size() - kMost);
  return text;
}

// What a switch loses, and why.
struct Verdict {
  FaultKind kind = FaultKind::kBlackhole;
  double confidence = 0;
  std::string evidence;  // empty: none
};

// Whether a switch loses CNPs, or data to some destinations. The strongest evidence decides.
Verdict VerdictOn(const DiagnosisInput& input, NodeIndex node, const Loss& loss) {
  const auto frames = static_cast<int64_t>(loss.frames);
  const std::optional<LostCnps> cnps = LostCnpsSince(input, loss.earliest);
  if (cnps && 2 * (cnps->packets - cnps->uncertainty) > frames) {
    const auto least = static_cast<uint64_t>(cnps->packets - cnps->uncertainty);
    return {FaultKind::kLostCnps, 0.95,
            fmt::format("{}{} that NICs sent in this time reached no NIC",
                        cnps->uncertainty > 0 ? "at least " : "", Counted(least, "CNP"))};
  }
  const std::optional<double> length = LengthOfLost(input, node, loss);
  if (length && *length <= kLongestCnp) {
    return {FaultKind::kLostCnps, 0.95,
            fmt::format("the lost frames have {:.0f} bytes on average, which is the length of CNPs",
                        *length)};
  }
  const Retransmitted again = RetransmittedThrough(input, node);
  if (!again.empty()) {
    return {FaultKind::kBlackhole, 0.95,
            fmt::format("packets to {} that pass through it were retransmitted",
                        DestinationsOf(input, again))};
  }
  const bool is_data = (length && *length >= 2 * kLongestCnp) ||
                       (cnps && 2 * (cnps->packets + cnps->uncertainty) <= frames);
  if (is_data) return {FaultKind::kBlackhole, 0.95, {}};
  const std::optional<uint64_t> signs = SignsOfLostData(input, loss.earliest);
  if (signs && *signs > 0) {
    return {
        FaultKind::kBlackhole, 0.9,
        fmt::format("NICs counted {} of lost data packets since then", Counted(*signs, "sign"))};
  }
  if (signs) return {FaultKind::kLostCnps, 0.8, "no NIC counted a lost data packet since then"};
  if (!input.parts().flows.empty()) {
    return {FaultKind::kLostCnps, 0.8, "no flow through it retransmitted packets"};
  }
  return {FaultKind::kBlackhole, kUndecided, {}};
}

// Adds the windows in which a switch with NICs was isolated: it received frames from them, but
// exchanged almost none with other switches. One of its links must have been down meanwhile:
// otherwise they may merely be idle. Its other links may be drained.
void AddIsolation(const DiagnosisInput& input, const LinkHistories& histories, NodeIndex node,
                  std::vector<size_t>& windows) {
  constexpr double kAlmostNone = 0.01;
  const topology::Fabric& fabric = input.fabric();
  Row local(input.windows());
  Row beyond(input.windows());
  std::vector<topology::LinkIndex> links;  // to other switches
  for (const topology::Port& port : fabric.PortsOf(node)) {
    const auto own = static_cast<topology::PortIndex>(&port - fabric.ports().data());
    const NodeIndex peer = fabric.PeerNode(own);
    if (peer == kNone) continue;
    const bool is_local = !fabric.node(peer).IsSwitch();
    if (!is_local) links.push_back(port.link);
    for (const Metric metric : {Metric::kRxPackets, Metric::kTxPackets}) {
      if (is_local && metric == Metric::kTxPackets) continue;
      const Row row = input.Growth(input.EntityOf(own), metric);
      Row& sum = is_local ? local : beyond;
      for (size_t w = 0; w < row.size(); ++w) sum[w] += row[w];
    }
  }
  if (links.empty()) return;
  const auto is_isolated = [&](size_t w) {
    return local[w] > 0 &&
           static_cast<double>(beyond[w]) <= kAlmostNone * static_cast<double>(local[w]);
  };
  for (size_t first = 0; first < local.size(); ++first) {
    size_t behind = first;
    while (behind < local.size() && is_isolated(behind)) ++behind;
    const bool is_down =
        behind > first && std::ranges::any_of(links, [&](auto link) {
          const auto down = histories[link].down.begin();
          return std::any_of(down + static_cast<ptrdiff_t>(first),
                             down + static_cast<ptrdiff_t>(behind), std::identity());
        });
    for (; first < behind; ++first) {
      if (is_down) windows.push_back(first);
    }
  }
}

// Windows in which NICs became unreachable: their links went down, or those of their switch.
std::vector<size_t> WhenUnreachable(const DiagnosisInput& input, const LinkHistories& histories) {
  std::vector<size_t> falls;
  const topology::Fabric& fabric = input.fabric();
  for (const topology::Nic& nic : fabric.nics()) {
    const topology::LinkIndex link = fabric.port(nic.port).link;
    if (link == kNone) continue;
    if (histories[link].any) falls.push_back(histories[link].first);
  }
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (fabric.node(node).IsSwitch()) AddIsolation(input, histories, node, falls);
  }
  return falls;
}

// Whether the switch may have had no route for the frames and does not count such drops: a NIC
// became unreachable shortly before.
bool MayLackRoute(const DiagnosisInput& input, NodeIndex node, const Loss& loss,
                  const std::vector<size_t>& falls) {
  const topology::Node& of = input.fabric().node(node);
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (input.HasMetric(input.EntityOf(of.first_port + i), Metric::kNoRouteDrops)) return false;
  }
  // Windows by which the loss may show before the link state.
  const Entity port = input.EntityOf(of.first_port);
  const size_t later = input.IsReadAtWindowEnds(port, Metric::kLinkUp) ? 0 : 2;
  return std::ranges::any_of(falls, [&](size_t fall) {
    return fall <= loss.first + later && fall + input.thresholds().effect_windows >= loss.earliest;
  });
}

// Whether the switch went down at about the time when the loss began. What is on its way through it
// is lost then, and its counters may restart.
bool WentDown(const DiagnosisInput& input, const LinkHistories& histories, NodeIndex node,
              const Loss& loss) {
  constexpr size_t kBefore = 3;  // windows by which the loss may show first
  constexpr size_t kAfter = 2;   // windows
  size_t from = 0;
  while (const auto outage = OutageOf(input, node, histories, from)) {
    if (outage->first <= loss.first + kBefore && outage->behind + kAfter >= loss.first) return true;
    from = outage->behind;
  }
  return false;
}

// Whether a link of the switch went down, or was shut, at about the time of the loss, and nothing
// was lost afterwards: frames that wait for a link that goes down are discarded, often without
// being counted.
bool WasQueuedForALink(const DiagnosisInput& input, const LinkHistories& histories, NodeIndex node,
                       const Loss& loss) {
  for (const topology::Port& port : input.fabric().PortsOf(node)) {
    if (port.link == kNone) continue;
    const LinkHistory& history = histories[port.link];
    const std::vector<bool> disabled = WindowsDisabled(input, port.link);
    // Maximum distance of the loss from the link state, in windows.
    const Entity own =
        input.EntityOf(static_cast<topology::PortIndex>(&port - input.fabric().ports().data()));
    const size_t apart = input.IsReadAtWindowEnds(own, Metric::kLinkUp) ? 1 : 3;
    for (size_t w = 1; w < input.windows(); ++w) {
      const bool goes_down =
          (history.down[w] || disabled[w]) && !history.down[w - 1] && !disabled[w - 1];
      if (goes_down && w <= loss.first + apart && loss.last <= w + apart) return true;
    }
  }
  return false;
}

// A switch that loses frames silently.
struct SilentLoss {
  NodeIndex node = kNone;
  Loss loss;
  Verdict verdict;
  bool may_lack_route = false;
};

SilentLoss SilentLossOf(const DiagnosisInput& input, NodeIndex node, const Loss& loss,
                        const std::vector<size_t>& falls) {
  constexpr double kDoubtful = 0.4;
  SilentLoss silent = {.node = node, .loss = loss, .verdict = VerdictOn(input, node, loss)};
  silent.may_lack_route =
      silent.verdict.kind == FaultKind::kBlackhole && MayLackRoute(input, node, loss, falls);
  if (silent.may_lack_route) silent.verdict.confidence = kDoubtful;
  return silent;
}

void AddSilentLoss(const DiagnosisInput& input, const SilentLoss& silent, Findings& found) {
  const auto& [node, loss, verdict, may_lack_route] = silent;
  Finding finding = {.kind = verdict.kind,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = verdict.confidence,
                     .from = input.BeginOf(loss.first),
                     .detected_at = input.EndOf(loss.detected_at)};
  finding.until = input.Until(loss.last);
  finding.evidence.push_back(fmt::format(
      "it received {} that it neither sent nor counted as dropped", Counted(loss.frames, "frame")));
  if (!verdict.evidence.empty()) finding.evidence.push_back(verdict.evidence);
  if (verdict.kind == FaultKind::kBlackhole) {
    DoubtLoss(input,
              {.frames = loss.frames,
               .from = input.BeginOf(loss.earliest),
               .last = input.EndOf(loss.last)},
              finding);
  }
  if (verdict.confidence == kUndecided) {
    finding.alternatives.push_back(
        {.kind = FaultKind::kLostCnps, .place = finding.place, .probability = 1 - kUndecided});
    finding.further.push_back("counters of the NICs: they show whether data packets were lost");
  }
  if (may_lack_route) {
    finding.further.push_back(
        "counters of packets without a route: a NIC became unreachable shortly before");
  }
  found.push_back(std::move(finding));
}

void DetectTooLong(const DiagnosisInput& input, NodeIndex node, Findings& found) {
  Row dropped(input.windows());
  const topology::Node& of = input.fabric().node(node);
  for (uint32_t i = 0; i < of.port_count; ++i) {
    const Row row = input.Growth(input.EntityOf(of.first_port + i), Metric::kMtuDrops);
    for (size_t w = 0; w < row.size(); ++w) dropped[w] += row[w];
  }
  const auto is_some = [](uint64_t value) { return value > 0; };
  const auto first = std::ranges::find_if(dropped, is_some);
  if (first == dropped.end()) return;
  const auto last = std::find_if(dropped.rbegin(), dropped.rend(), is_some).base();
  uint64_t all = 0;
  for (const uint64_t value : dropped) all += value;
  Finding finding = {.kind = FaultKind::kMtuMismatch,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = ConfidenceFromCount(all, kSureOfMtu),
                     .from = input.BeginOf(static_cast<size_t>(first - dropped.begin())),
                     .detected_at = input.EndOf(static_cast<size_t>(first - dropped.begin()))};
  finding.evidence.push_back(
      fmt::format("it dropped {} as larger than its MTU", Counted(all, "packet")));
  finding.until = input.Until(static_cast<size_t>(last - dropped.begin()) - 1);
  found.push_back(std::move(finding));
}

}  // namespace

void DetectSwitchLoss(const DiagnosisInput& input, Findings& found) {
  std::vector<NodeIndex> switches;
  std::vector<Balance> places;
  for (NodeIndex node = 0; node < input.fabric().nodes().size(); ++node) {
    if (!input.fabric().node(node).IsSwitch()) continue;
    DetectTooLong(input, node, found);
    switches.push_back(node);
    places.push_back(BalanceOf(input, node));
  }
  const Balances balances(std::move(places));
  LinkHistories histories;  // computed if needed: most fabrics lose nothing
  std::vector<size_t> falls;
  std::vector<SilentLoss> silent;
  for (size_t i = 0; i < switches.size(); ++i) {
    const auto loss = balances.LossAt(i);
    if (!loss || 2 * SurplusAt(input, switches[i]) > loss->frames) continue;
    if (histories.empty()) {
      histories = HistoriesOf(input);
      falls = WhenUnreachable(input, histories);
    }
    if (WentDown(input, histories, switches[i], *loss) ||
        WasQueuedForALink(input, histories, switches[i], *loss)) {
      continue;
    }
    silent.push_back(SilentLossOf(input, switches[i], *loss, falls));
  }
  // All switches lack the route to a NIC that became unreachable. A blackhole is at one of them.
  const bool is_routing = std::ranges::count(silent, true, &SilentLoss::may_lack_route) > 1;
  for (const SilentLoss& loss : silent) {
    if (!is_routing || !loss.may_lack_route) AddSilentLoss(input, loss, found);
  }
}

TimeToDetection TimeToDetectSwitchLoss(FaultKind kind, const Thresholds& /*thresholds*/) {
  if (kind == FaultKind::kMtuMismatch) {
    return {.signs = fmt::format("{} packets that a switch drops as larger than its MTU",
                                 LeastCountFor(kLeastConfidence, kSureOfMtu))};
  }
  return {.windows = Balances::kLeastReadings,
          .signs = "more missing frames than can be queued or in flight"};
}

}  // namespace rocescope
