// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/doubt.h"
#include "analytics/diagnosis/link_history.h"
#include "analytics/diagnosis/maintenance.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

std::optional<Timestamp> EndOfFault(const DiagnosisInput& input, size_t behind) {
  if (behind >= input.windows()) return std::nullopt;
  return input.EndOf(behind - 1);
}

Finding FindingOf(const DiagnosisInput& input, const LinkHistory& history, FaultKind kind,
                  Place place) {
  return {.kind = kind,
          .place = place,
          .from = input.BeginOf(history.first),
          .until = EndOfFault(input, history.behind),
          .detected_at = input.EndOf(history.first)};
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

void DetectOneLink(const DiagnosisInput& input, LinkIndex index, const LinkHistory& history,
                   Findings& found) {
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
    if (nic == kNone) continue;
    if (IsTooEarly(input, nic, history)) return;
  }
  Finding finding = FindingOf(input, history, FaultKind::kLinkDown, place);
  finding.evidence.push_back("one or both ends report that the link went down once");
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

void AddCrash(const DiagnosisInput& input, NodeIndex node, const SwitchOutage& outage,
              Findings& found) {
  const Drain drain = DrainOf(input, node, outage);
  if (drain == Drain::kDrained) return;
  Finding finding = {.kind = FaultKind::kSwitchCrash,
                     .place = {.kind = PlaceKind::kSwitch, .index = node},
                     .confidence = 0.99,
                     .from = input.BeginOf(outage.first),
                     .until = EndOfFault(input, outage.behind),
                     .detected_at = input.EndOf(outage.first)};
  size_t links = 0;
  for (const topology::Port& port : input.fabric().PortsOf(node)) links += port.link != kNone;
  finding.evidence.push_back(
      outage.links == links
          ? fmt::format("all of its {} went down at the same time", Counted(links, "link"))
          : fmt::format("{} of its {} links went down at the same time", outage.links, links));
  if (drain == Drain::kUnclear) {
    constexpr double kUnlikely = 0.4;
    finding.confidence = kUnlikely;
    finding.further.push_back(
        "whether this was planned maintenance: it lost no traffic when it went down");
  }
  found.push_back(std::move(finding));
}

struct Outage {
  LinkIndex link = kNone;
  size_t first = 0;
  size_t behind = 0;  // window after the last one
};

// The outages of the link of a NIC. If the NIC reports nothing until the link is down again, this
// is one outage: a host can toggle its link while it boots.
std::vector<Outage> OutagesOf(const DiagnosisInput& input, topology::NicIndex nic,
                              const LinkHistories& histories) {
  const LinkIndex link = input.fabric().port(input.fabric().nic(nic).port).link;
  if (link == kNone) return {};
  const std::vector<bool>& down = histories[link].down;
  const Entity entity{.kind = EntityKind::kNic, .index = nic};
  const bool reports = input.HasMetric(entity, Metric::kLinkUp);
  std::vector<Outage> outages;
  bool continues = false;
  for (size_t w = 0; w < down.size(); ++w) {
    if (down[w] && !continues) outages.push_back({.link = link, .first = w});
    if (down[w]) outages.back().behind = w + 1;
    const bool is_silent = reports && !input.HasReading(entity, Metric::kLinkUp, w);
    continues = down[w] || (continues && is_silent);
  }
  return outages;
}

// Removes the outages of hosts from the histories of their links.
void ExplainByHosts(const DiagnosisInput& input, LinkHistories& histories) {
  // All are found before any is removed: the links of a host are compared with each other.
  std::vector<Outage> of_hosts;
  for (topology::NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    for (const Outage& outage : OutagesOf(input, nic, histories)) {
      if (IsHostDown(input, nic, histories, outage.first, outage.behind)) {
        of_hosts.push_back(outage);
      }
    }
  }
  for (const Outage& outage : of_hosts) {
    histories[outage.link].Explain(outage.first, outage.behind);
  }
}

}  // namespace

void DetectLinkState(const DiagnosisInput& input, Findings& found) {
  const topology::Fabric& fabric = input.fabric();
  LinkHistories histories = HistoriesOf(input);
  for (LinkIndex link = 0; link < fabric.links().size(); ++link) DetectSpeed(input, link, found);
  // All outages are found before any link is explained: a link that one switch explains is evidence
  // for the switch at its other end, too.
  std::vector<std::pair<NodeIndex, SwitchOutage>> outages;
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) continue;
    size_t from = 0;
    while (const auto outage = OutageOf(input, node, histories, from)) {
      outages.emplace_back(node, *outage);
      from = outage->behind;
    }
  }
  for (const auto& [node, outage] : outages) {
    AddCrash(input, node, outage, found);
    for (const topology::Port& port : fabric.PortsOf(node)) {
      if (port.link != kNone) histories[port.link].Explain(outage.first, outage.behind);
    }
  }
  ExplainByHosts(input, histories);
  for (LinkIndex link = 0; link < histories.size(); ++link) {
    histories[link].Summarise();
    if (histories[link].any) DetectOneLink(input, link, histories[link], found);
  }
}

TimeToDetection TimeToDetectLinkState(FaultKind kind, const Thresholds& /*thresholds*/) {
  // A counter of transitions to down shows several within a window; the link state shows one per
  // reading.
  if (kind == FaultKind::kFlap) return {.signs = "the link goes down twice"};
  if (kind == FaultKind::kDegradedRate)
    return {.signs = "a reading of a speed below the declared one"};
  if (kind == FaultKind::kNicCrash)
    return {.signs = "a reading of the link state, and no readings of the NIC"};
  return {.signs = "a reading of the link state, or a counted transition to down"};
}

}  // namespace rocescope
