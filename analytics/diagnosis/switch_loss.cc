// SPDX-License-Identifier: BSD-3-Clause
// What a switch received in all is what it sent, dropped and counted, or what still waits in it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "analytics/diagnosis/sum_windows.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;

constexpr Metric kCountedDrops[] = {Metric::kRxDiscards, Metric::kTxDiscards, Metric::kTtlDrops,
                                    Metric::kNoRouteDrops, Metric::kMtuDrops};

// Received, neither sent nor counted as lost, nor waiting in its queues.
Balance BalanceOf(const Scene& scene, NodeIndex node) {
  const topology::Node& of = scene.fabric().node(node);
  if (scene.HasUndeclaredTraffic(node)) return {};
  Balance balance{.missing = std::vector<int64_t>(scene.windows()),
                  .busy = std::vector<double>(scene.windows()),
                  .full = std::vector<int64_t>(scene.windows())};
  std::vector<int64_t>& difference = balance.missing;
  Row waiting(scene.windows());
  double longest = 0;  // octets: the mean of a port that sends full frames
  std::optional<Entity> first;
  bool is_queue_told = false;
  std::vector<Counter> counters;
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (scene.fabric().port(of.first_port + i).link == kNone) continue;
    const Entity entity = scene.EntityOf(of.first_port + i);
    if (!first) first = entity;
    if (!scene.AreSimultaneous(*first, Metric::kRxPackets, entity, Metric::kTxPackets)) return {};
    counters.emplace_back(entity, Metric::kRxPackets);
    counters.emplace_back(entity, Metric::kTxPackets);
    const auto add = [&](Metric metric, int64_t sign) {
      const Row row = scene.Growth(entity, metric);
      for (size_t w = 0; w < row.size(); ++w) difference[w] += sign * static_cast<int64_t>(row[w]);
    };
    const Row frames = scene.Growth(entity, Metric::kTxPackets);
    const Row bytes = scene.Growth(entity, Metric::kTxBytes);
    for (size_t w = 0; w < frames.size(); ++w) {
      if (frames[w] == 0) continue;
      longest = std::max(longest, static_cast<double>(bytes[w]) / static_cast<double>(frames[w]));
    }
    add(Metric::kRxPackets, 1);
    add(Metric::kTxPackets, -1);
    for (const Metric metric : kCountedDrops) add(metric, -1);
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Row queue =
          scene.Levels(scene.EntityOf(of.first_port + i, priority), Metric::kQueueBytes);
      is_queue_told |= !queue.empty();
      for (size_t w = 0; w < queue.size(); ++w) waiting[w] += queue[w];
    }
  }
  if (!is_queue_told) return {};  // all that is missing may wait
  const SumWindows windows = SumWindowsOf(scene, counters);
  for (size_t w = 0; w < difference.size(); ++w) {
    if (!windows.known[w]) {
      balance.unknown.push_back(w);
      difference[w] = 0;  // and so begins anew
    } else if (w > 0) {
      difference[w] += difference[w - 1];
    }
  }
  // What waits is known in octets. Most of it is of full length; where it is not, more frames wait.
  constexpr double kUnsure = 0.5;
  for (size_t w = 0; w < difference.size(); ++w) {
    if (!windows.known[w] || !windows.read[w]) {
      difference[w] = Balance::kUnread;
      continue;
    }
    if (waiting[w] == 0) continue;
    if (longest == 0) {
      difference[w] = Balance::kUnread;
      continue;
    }
    const double frames = static_cast<double>(waiting[w]) / longest;
    difference[w] -= static_cast<int64_t>(frames);
    balance.busy[w] = 1;
    balance.full[w] = 2 + static_cast<int64_t>(kUnsure * frames);
  }
  return balance;
}

// NICs that may have sent or got notifications: those that somebody saw, or that say so themselves.
std::vector<bool> NicsThatTalk(const Scene& scene) {
  std::vector<bool> talk(scene.fabric().nics().size());
  for (const FlowPath& path : scene.parts().paths) {
    for (const topology::NicIndex nic : {path.source, path.destination}) {
      if (nic != kNone) talk[nic] = true;
    }
  }
  for (topology::NicIndex nic = 0; nic < talk.size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    for (const Metric metric :
         {Metric::kTxPackets, Metric::kRxPackets, Metric::kCnpSent, Metric::kCnpHandled}) {
      const Row row = scene.Growth(entity, metric);
      if (std::ranges::any_of(row, [](uint64_t packets) { return packets > 0; })) talk[nic] = true;
    }
  }
  return talk;
}

// Congestion notifications that left their senders and reached nobody, over the whole fabric and
// from a window on: fewer than 0 if more were heeded than were sent since. Unset where a NIC that
// talks does not tell both.
std::optional<int64_t> LostNotifications(const Scene& scene, size_t from) {
  int64_t lost = 0;
  bool told = false;
  const std::vector<bool> talk = NicsThatTalk(scene);
  for (topology::NicIndex nic = 0; nic < talk.size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    if (!talk[nic]) continue;
    if (!scene.Tells(entity, Metric::kCnpSent) || !scene.Tells(entity, Metric::kCnpHandled)) {
      return std::nullopt;
    }
    told = true;
    const Row sent = scene.Growth(entity, Metric::kCnpSent);
    const Row handled = scene.Growth(entity, Metric::kCnpHandled);
    for (size_t w = from; w < sent.size(); ++w) {
      lost += static_cast<int64_t>(sent[w]) - static_cast<int64_t>(handled[w]);
    }
  }
  return told ? std::optional(lost) : std::nullopt;
}

using SentAgain = std::map<std::pair<Segment, IpAddress>, uint64_t>;

// Packets sent again by flows whose way leads by the node, by where they go; of those that were.
SentAgain SentAgainBy(const Scene& scene, NodeIndex node) {
  SentAgain again;
  const FlowSummaries& flows = scene.parts().flows;
  const FlowPaths& paths = scene.parts().paths;
  size_t at = 0;
  for (size_t i = 0; i < flows.size(); ++i) {
    while (at < paths.size() && paths[at].flow < flows[i].flow) ++at;
    if (at == paths.size()) break;
    const FlowKey& flow = flows[i].flow;
    const uint64_t packets = flows[i].total.retransmitted + flows[i].total.reordered;
    if (packets == 0 || paths[at].flow != flow) continue;
    const bool passes = std::ranges::any_of(paths[at].intervals, [&](const PathInterval& stretch) {
      return std::ranges::any_of(stretch.certain, [&](topology::PortIndex port) {
        return scene.fabric().port(port).node == node;
      });
    });
    if (passes) again[{flow.segment, flow.destination}] += packets;
  }
  return again;
}

// "host4:mlx5_0, host4:mlx5_1, host5:mlx5_0 and 2 more": where most of them go, most first. Those
// to whom few go lost them otherwise, as answers that did not come back.
std::string DestinationsOf(const Scene& scene, const SentAgain& again) {
  constexpr uint64_t kFew = 20;  // times less than to the first
  constexpr size_t kMost = 3;
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto& [end, packets] : again) {
    const topology::NicIndex nic =
        scene.fabric().FindNic({.segment = end.first, .address = end.second});
    order.emplace_back(packets,
                       nic == topology::kNone
                           ? ToString(end.second)
                           : NameOf(scene.fabric(), {.kind = PlaceKind::kNic, .index = nic}));
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

void AddSilentLoss(const Scene& scene, NodeIndex node, const Loss& loss, Findings& found) {
  const auto frames = static_cast<int64_t>(loss.frames);
  const size_t first = loss.first;
  Finding finding = {.kind = FindingKind::kBlackhole,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = 0.95,
                     .from = scene.BeginOf(first),
                     .verdict = scene.EndOf(loss.verdict)};
  finding.until = scene.Until(loss.last);
  finding.evidence.push_back(
      fmt::format("{} went into it and never came out, and it counts no drops",
                  Counted(static_cast<uint64_t>(frames), "frame")));
  const std::optional<int64_t> notifications = LostNotifications(scene, first);
  const SentAgain again = SentAgainBy(scene, node);
  const bool are_notifications = notifications ? *notifications * 2 > frames : again.empty();
  if (are_notifications) {
    finding.kind = FindingKind::kLostCnps;
    if (notifications) {
      finding.evidence.push_back(
          fmt::format("{} that NICs sent meanwhile reached no NIC",
                      Counted(static_cast<uint64_t>(*notifications), "congestion notification")));
    } else {
      finding.confidence = 0.8;
      finding.evidence.push_back("no flow by way of it had to send anything again");
    }
  } else if (!again.empty()) {
    finding.evidence.push_back(fmt::format(
        "packets to {} that go by way of it had to be sent again", DestinationsOf(scene, again)));
  }
  found.push_back(std::move(finding));
}

void DetectTooLong(const Scene& scene, NodeIndex node, Findings& found) {
  Row dropped(scene.windows());
  const topology::Node& of = scene.fabric().node(node);
  for (uint32_t i = 0; i < of.port_count; ++i) {
    const Row row = scene.Growth(scene.EntityOf(of.first_port + i), Metric::kMtuDrops);
    for (size_t w = 0; w < row.size(); ++w) dropped[w] += row[w];
  }
  const auto is_some = [](uint64_t value) { return value > 0; };
  const auto first = std::ranges::find_if(dropped, is_some);
  if (first == dropped.end()) return;
  const auto last = std::find_if(dropped.rbegin(), dropped.rend(), is_some).base();
  uint64_t all = 0;
  for (const uint64_t value : dropped) all += value;
  Finding finding = {.kind = FindingKind::kMtuMismatch,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = ConfidenceFromCount(all, 0.99),
                     .from = scene.BeginOf(static_cast<size_t>(first - dropped.begin())),
                     .verdict = scene.EndOf(static_cast<size_t>(first - dropped.begin()))};
  finding.evidence.push_back(fmt::format("it dropped {} as too long", Counted(all, "packet")));
  finding.until = scene.Until(static_cast<size_t>(last - dropped.begin()) - 1);
  found.push_back(std::move(finding));
}

}  // namespace

void DetectSwitchLoss(const Scene& scene, Findings& found) {
  std::vector<NodeIndex> switches;
  std::vector<Balance> places;
  for (NodeIndex node = 0; node < scene.fabric().nodes().size(); ++node) {
    if (!scene.fabric().node(node).IsSwitch()) continue;
    DetectTooLong(scene, node, found);
    switches.push_back(node);
    places.push_back(BalanceOf(scene, node));
  }
  const Balances balances(std::move(places));
  for (size_t i = 0; i < switches.size(); ++i) {
    if (const auto loss = balances.LossAt(i)) AddSilentLoss(scene, switches[i], *loss, found);
  }
}

}  // namespace rocescope
