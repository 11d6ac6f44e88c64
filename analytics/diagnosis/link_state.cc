// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

// History of one link over the windows.
struct LinkHistory {
  size_t first = 0;              // window of the first sign
  size_t behind = 0;             // window after the last sign
  uint64_t times = 0;            // times that it went down; the larger number of both ends
  std::optional<size_t> second;  // window in which it went down for the second time
  bool any = false;
  bool was_up = false;  // at any time, as an end reports
  bool is_told = false;
};

// Adds how often the link went down in each window, from the flap counter or the readings of one
// end.
void AddFalls(const Row& falls, LinkHistory& history) {
  uint64_t times = 0;
  for (size_t i = 0; i < falls.size(); ++i) {
    if (falls[i] == 0) continue;
    times += falls[i];
    if (times < 2 || times - falls[i] >= 2) continue;
    history.second = std::min(history.second.value_or(i), i);
  }
  history.times = std::max(history.times, times);
}

Row FallsOf(const Row& up) {
  Row falls(up.size());
  for (size_t i = 1; i < up.size(); ++i) falls[i] = up[i - 1] != 0 && up[i] == 0;
  return falls;
}

// Windows in or next to which a port of the link was disabled by its configuration.
std::vector<bool> WindowsDisabled(const DiagnosisInput& input, LinkIndex index) {
  std::vector<bool> disabled(input.windows());
  for (const PortIndex port : input.fabric().link(index).ends) {
    const Row enabled = input.Levels(input.EntityOf(port), Metric::kAdminUp);
    for (size_t i = 0; i < enabled.size(); ++i) {
      if (enabled[i] != 0) continue;
      // The ends are read at different times.
      for (size_t near = i > 0 ? i - 1 : 0; near < std::min(i + 2, disabled.size()); ++near) {
        disabled[near] = true;
      }
    }
  }
  return disabled;
}

LinkHistory HistoryOf(const DiagnosisInput& input, LinkIndex index) {
  LinkHistory history;
  const std::vector<bool> disabled = WindowsDisabled(input, index);
  // For each window: an end is down at the end of the window or went down during it.
  std::vector<bool> down(input.windows());
  for (const PortIndex port : input.fabric().link(index).ends) {
    const Entity entity = input.EntityOf(port);
    Row flaps = input.Growth(entity, Metric::kLinkFlaps);
    Row up = input.Levels(entity, Metric::kLinkUp);
    for (size_t i = 0; i < input.windows(); ++i) {
      if (!disabled[i]) continue;
      flaps[i] = 0;
      if (!up.empty()) up[i] = 1;
    }
    const MetricSeries* told = input.parts().metrics.Find(entity, Metric::kLinkUp);
    // A link that was never up is a missing cable, which the cabling analysis reports.
    const bool ever = told != nullptr && told->was_ever_nonzero();
    history.is_told |= told != nullptr;
    history.was_up |= ever;
    for (size_t i = 0; i < input.windows(); ++i) {
      if (flaps[i] > 0 || (ever && !up.empty() && up[i] == 0)) down[i] = true;
    }
    AddFalls(flaps, history);
    if (ever) AddFalls(FallsOf(up), history);
  }
  for (size_t i = 0; i < input.windows(); ++i) {
    if (!down[i]) continue;
    if (!history.any) history.first = i;
    history.any = true;
    history.behind = i + 1;
  }
  return history;
}

std::optional<Timestamp> EndOfFault(const DiagnosisInput& input, size_t behind) {
  if (behind >= input.windows()) return std::nullopt;
  return input.EndOf(behind - 1);
}

// Windows in which the switch reported that the link of a NIC is down. Devices are read at
// different times: in the first and the last window, the NIC may have been up.
std::vector<size_t> WindowsDown(const DiagnosisInput& input, topology::NicIndex nic,
                                const LinkHistory& history) {
  const Entity peer = input.EntityOf(input.fabric().Peer(input.fabric().nic(nic).port));
  const Row up = input.Levels(peer, Metric::kLinkUp);
  std::vector<size_t> down;
  for (size_t i = history.first; i < history.behind && i < up.size(); ++i) {
    if (up[i] == 0 && input.HasReading(peer, Metric::kLinkUp, i)) down.push_back(i);
  }
  constexpr size_t kEnds = 2;
  if (down.size() > kEnds) down = {down.begin() + 1, down.end() - 1};
  return down;
}

// A NIC that is down reports no counters, while the switch reports that the link is down.
bool IsSilent(const DiagnosisInput& input, topology::NicIndex nic, const LinkHistory& history) {
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  const std::vector<size_t> down = WindowsDown(input, nic, history);
  return !down.empty() && std::ranges::none_of(down, [&](size_t window) {
    return input.HasReading(entity, Metric::kLinkUp, window);
  });
}

// Whether a host that is down or restarts explains that this link went down: all of its NICs and
// GPUs report nothing any more. Then the fabric has no fault.
bool IsHostDown(const DiagnosisInput& input, topology::NicIndex nic,
                const std::vector<LinkHistory>& histories) {
  const topology::Fabric& fabric = input.fabric();
  const topology::NodeIndex host = fabric.nic(nic).host;
  const LinkHistory& own = histories[fabric.port(fabric.nic(nic).port).link];
  std::vector<size_t> down;  // windows, of all NICs
  for (const topology::NicIndex other : fabric.NicsOf(host)) {
    const LinkIndex link = fabric.port(fabric.nic(other).port).link;
    if (link == kNone) continue;
    const LinkHistory& history = histories[link];
    const auto [low, high] = std::minmax(own.first, history.first);
    if (!history.any || high - low > 2 || !IsSilent(input, other, history)) return false;
    const std::vector<size_t> of_other = WindowsDown(input, other, history);
    if (down.empty()) {
      down = of_other;
    } else {
      std::erase_if(down, [&](size_t at) { return !std::ranges::binary_search(of_other, at); });
    }
  }
  size_t gpus = 0;
  for (const topology::GpuIndex gpu : fabric.GpusOf(host)) {
    const Entity entity{.kind = EntityKind::kGpu, .index = gpu};
    if (!input.HasMetric(entity, Metric::kMemoryTotal)) continue;
    ++gpus;
    const bool reports = std::ranges::any_of(
        down, [&](size_t at) { return input.HasReading(entity, Metric::kMemoryTotal, at); });
    if (reports) return false;
  }
  return fabric.NicsOf(host).size() > 1 || gpus > 0;
}

Finding FindingOf(const DiagnosisInput& input, const LinkHistory& history, FaultKind kind,
                  Place place) {
  return {.kind = kind,
          .place = place,
          .from = input.BeginOf(history.first),
          .until = EndOfFault(input, history.behind),
          .detected_at = input.EndOf(history.first)};
}

// What the neighbours of a switch send to it at a time, compared with before.
struct Traffic {
  uint64_t before = 0;  // each link in its busiest window before; frames
  uint64_t then = 0;    // frames in the window
};

void AddTraffic(const DiagnosisInput& input, PortIndex neighbour, size_t window, Traffic& traffic) {
  constexpr size_t kBefore = 10;  // windows
  const Row sent = input.Growth(input.EntityOf(neighbour), Metric::kTxPackets);
  uint64_t most = 0;
  for (size_t i = window - std::min(window, kBefore); i < window; ++i) {
    most = std::max(most, sent[i]);
  }
  traffic.before += most;
  traffic.then += sent[window];
}

bool HasFallen(const Traffic& traffic, double least) {
  return static_cast<double>(traffic.then) < least * static_cast<double>(traffic.before);
}

// Whether a switch carried nothing when it went down, although it did before and most other
// switches of its tier still do: it was drained for maintenance.
bool WasDrained(const DiagnosisInput& input, NodeIndex node,
                const std::vector<LinkHistory>& histories) {
  const topology::Fabric& fabric = input.fabric();
  constexpr double kNothing = 0.02;  // share of the traffic before
  constexpr double kMuchLess = 0.2;
  Traffic own;
  size_t window = 0;
  for (const topology::Port& port : fabric.PortsOf(node)) {
    if (port.link == kNone || !histories[port.link].any) continue;
    const auto here = static_cast<PortIndex>(&port - fabric.ports().data());
    const PortIndex neighbour = fabric.Peer(here);
    // The reading that shows the link down counts what the neighbour sent before.
    const Row up = input.Levels(input.EntityOf(neighbour), Metric::kLinkUp);
    size_t down = histories[port.link].first;
    while (down < up.size() && up[down] != 0) ++down;
    if (down >= up.size()) continue;
    window = std::max(window, down);
    AddTraffic(input, neighbour, down, own);
  }
  if (own.before == 0 || !HasFallen(own, kNothing)) return false;
  size_t others = 0;
  size_t fallen = 0;
  for (NodeIndex other = 0; other < fabric.nodes().size(); ++other) {
    if (other == node || !fabric.node(other).IsSwitch()) continue;
    if (fabric.node(other).tier != fabric.node(node).tier) continue;
    Traffic traffic;
    for (const topology::Port& port : fabric.PortsOf(other)) {
      if (port.link == kNone) continue;
      const auto here = static_cast<PortIndex>(&port - fabric.ports().data());
      AddTraffic(input, fabric.Peer(here), window, traffic);
    }
    ++others;
    fallen += HasFallen(traffic, kMuchLess);
  }
  return others > 0 && 2 * fallen < others;
}

// Whether all links of the node went down within two windows.
bool IsGone(const DiagnosisInput& input, NodeIndex node, const std::vector<LinkHistory>& histories,
            size_t& links, LinkHistory& whole) {
  links = 0;
  std::vector<PortIndex> untold;
  for (const topology::Port& port : input.fabric().PortsOf(node)) {
    if (port.link == kNone) continue;
    const LinkHistory& history = histories[port.link];
    const auto own = static_cast<PortIndex>(&port - input.fabric().ports().data());
    // The other end has no counters, so that only the crashed node itself could report this link.
    if (!history.any &&
        !input.HasMetric(input.EntityOf(input.fabric().Peer(own)), Metric::kLinkUp)) {
      untold.push_back(own);
      continue;
    }
    // A declared cable that does not exist.
    if (!history.any && history.is_told && !history.was_up) continue;
    if (!history.any || history.second) return false;
    if (links++ == 0) {
      whole = history;
      continue;
    }
    const auto [low, high] = std::minmax(whole.first, history.first);
    if (high - low > 1) return false;
    whole.first = low;
    whole.behind = std::max(whole.behind, history.behind);
  }
  if (links < 2) return false;
  return std::ranges::none_of(untold, [&](PortIndex port) {
    return input.HasReading(input.EntityOf(port), Metric::kLinkUp, whole.first);
  });
}

void DetectSpeed(const DiagnosisInput& input, LinkIndex index, Findings& found) {
  const topology::Link& link = input.fabric().link(index);
  std::array<bool, 2> slow{};
  size_t first = input.windows();
  size_t behind = 0;
  uint64_t least = link.bits_per_second;
  for (size_t end = 0; end < 2; ++end) {
    const Row speed = input.Levels(input.EntityOf(link.ends[end]), Metric::kLinkSpeed);
    for (size_t i = 0; i < speed.size(); ++i) {
      if (speed[i] == 0 || speed[i] >= link.bits_per_second) continue;
      slow[end] = true;
      first = std::min(first, i);
      behind = std::max(behind, i + 1);
      least = std::min(least, speed[i]);
    }
  }
  if (!slow[0] && !slow[1]) return;
  Finding finding = {.kind = FaultKind::kDegradedRate,
                     .place = {.kind = PlaceKind::kLink,
                               .index = index,
                               .sender = slow[0] == slow[1] ? kNone : link.ends[slow[0] ? 0 : 1]},
                     .confidence = 0.99,
                     .from = input.BeginOf(first),
                     .until = EndOfFault(input, behind),
                     .detected_at = input.EndOf(first)};
  finding.evidence.push_back(fmt::format(
      "its port reports {:.1f} Gb/s, and the topology declares {:.0f} Gb/s",
      static_cast<double>(least) / 1e9, static_cast<double>(link.bits_per_second) / 1e9));
  found.push_back(std::move(finding));
}

// Whether a reading at the end of a window showed the link down.
bool WasRead(const DiagnosisInput& input, LinkIndex index, const LinkHistory& history) {
  return std::ranges::any_of(input.fabric().link(index).ends, [&](PortIndex port) {
    const Row up = input.Levels(input.EntityOf(port), Metric::kLinkUp);
    if (up.empty()) return true;  // no readings
    return std::any_of(up.begin() + static_cast<ptrdiff_t>(history.first),
                       up.begin() + static_cast<ptrdiff_t>(history.behind),
                       [](uint64_t value) { return value == 0; });
  });
}

void DetectOneLink(const DiagnosisInput& input, LinkIndex index,
                   const std::vector<LinkHistory>& histories, Findings& found) {
  const LinkHistory& history = histories[index];
  const Place place{.kind = PlaceKind::kLink, .index = index};
  if (history.second) {
    Finding finding = FindingOf(input, history, FaultKind::kFlap, place);
    finding.detected_at = input.EndOf(*history.second);
    finding.confidence = 0.99;
    finding.evidence.push_back(fmt::format("it went down {}", Counted(history.times, "time")));
    found.push_back(std::move(finding));
    return;
  }
  for (const PortIndex port : input.fabric().link(index).ends) {
    const topology::NicIndex nic = input.fabric().NicOf(port);
    if (nic != kNone && IsHostDown(input, nic, histories)) return;
  }
  Finding finding = FindingOf(input, history, FaultKind::kLinkDown, place);
  finding.evidence.push_back("one or both ends report that it went down once");
  // If every reading shows the link up, it was down for a moment, or a counter is wrong.
  finding.confidence = WasRead(input, index, history) ? 0.98 : ConfidenceFromCount(1, 0.98);
  for (const PortIndex port : input.fabric().link(index).ends) {
    const topology::NicIndex nic = input.fabric().NicOf(port);
    if (nic == kNone) continue;
    const Place at_nic{.kind = PlaceKind::kNic, .index = nic};
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    if (!input.HasMetric(entity, Metric::kLinkUp)) {
      // A failed NIC and a failed cable look the same to the switch. Cables and transceivers fail
      // more often.
      finding.confidence = 0.6;
      finding.alternatives.push_back(
          {.kind = FaultKind::kNicCrash, .place = at_nic, .probability = 0.4});
      finding.further.push_back("counters of the NIC: a NIC that is down reports none");
    } else if (IsSilent(input, nic, history)) {
      finding.kind = FaultKind::kNicCrash;
      finding.place = at_nic;
      finding.confidence = 0.95;
      finding.evidence.push_back("the NIC no longer reports counters, and other NICs do");
    }
  }
  found.push_back(std::move(finding));
}

}  // namespace

void DetectLinkState(const DiagnosisInput& input, Findings& found) {
  const topology::Fabric& fabric = input.fabric();
  std::vector<LinkHistory> histories;
  for (LinkIndex link = 0; link < fabric.links().size(); ++link) {
    histories.push_back(HistoryOf(input, link));
    DetectSpeed(input, link, found);
  }
  std::vector<bool> explained(histories.size());
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) continue;
    size_t links = 0;
    LinkHistory whole;
    if (!IsGone(input, node, histories, links, whole)) continue;
    for (const topology::Port& port : fabric.PortsOf(node)) {
      if (port.link != kNone) explained[port.link] = true;
    }
    if (WasDrained(input, node, histories)) continue;
    Finding finding = FindingOf(input, whole, FaultKind::kSwitchCrash,
                                {.kind = PlaceKind::kSwitch, .index = node});
    finding.confidence = 0.99;
    finding.evidence.push_back(
        fmt::format("all of its {} went down at the same time", Counted(links, "link")));
    found.push_back(std::move(finding));
  }
  for (LinkIndex link = 0; link < histories.size(); ++link) {
    if (histories[link].any && !explained[link]) DetectOneLink(input, link, histories, found);
  }
}

}  // namespace rocescope
