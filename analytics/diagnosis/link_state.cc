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

// Ports of a link that report a lower speed than the topology declares.
struct SlowLink {
  LinkIndex link = kNone;
  std::array<bool, 2> slow{};  // by end
  size_t first = 0;
  size_t behind = 0;
  uint64_t least = 0;  // bits per second
};

// In order of links.
std::vector<SlowLink> SlowLinksIn(const DiagnosisInput& input) {
  // RFC 2863: ifSpeed of an interface that is faster than 32 bits can express.
  constexpr uint64_t kUnknownSpeed = 4'294'967'295;
  constexpr uint64_t kRounding = 100;  // a rounded speed may differ by a hundredth
  std::vector<SlowLink> links;
  for (LinkIndex index = 0; index < input.fabric().links().size(); ++index) {
    const topology::Link& link = input.fabric().link(index);
    SlowLink one = {.link = index, .first = input.windows(), .least = link.bits_per_second};
    for (size_t end = 0; end < 2; ++end) {
      const Row speed = input.Levels(input.EntityOf(link.ends[end]), Metric::kLinkSpeed);
      for (size_t i = 0; i < speed.size(); ++i) {
        if (speed[i] == 0 || speed[i] == kUnknownSpeed ||
            speed[i] >= link.bits_per_second - link.bits_per_second / kRounding) {
          continue;
        }
        one.slow[end] = true;
        one.first = std::min(one.first, i);
        one.behind = std::max(one.behind, i + 1);
        one.least = std::min(one.least, speed[i]);
      }
    }
    if (one.slow[0] || one.slow[1]) links.push_back(one);
  }
  return links;
}

// Whether most links of a switch, or of the fabric, report the same speed. A fault degrades single
// links, so the topology or the exporter is wrong.
bool IsShared(const DiagnosisInput& input, const std::vector<SlowLink>& all, const SlowLink& one) {
  constexpr size_t kLeast = 4;  // links
  const topology::Fabric& fabric = input.fabric();
  const auto is_shared = [&](size_t same, size_t links) {
    return same >= kLeast && 2 * same > links;
  };
  const auto is_same = [&](const SlowLink& other) { return other.least == one.least; };
  if (is_shared(static_cast<size_t>(std::ranges::count_if(all, is_same)), fabric.links().size())) {
    return true;
  }
  return std::ranges::any_of(fabric.link(one.link).ends, [&](PortIndex end) {
    const NodeIndex node = fabric.port(end).node;
    size_t links = 0;
    size_t same = 0;
    for (const topology::Port& port : fabric.PortsOf(node)) {
      if (port.link == kNone) continue;
      ++links;
      const auto other = std::ranges::lower_bound(all, port.link, {}, &SlowLink::link);
      same += other != all.end() && other->link == port.link && is_same(*other);
    }
    return fabric.node(node).IsSwitch() && is_shared(same, links);
  });
}

void DetectSpeeds(const DiagnosisInput& input, Findings& found) {
  const std::vector<SlowLink> links = SlowLinksIn(input);
  for (const SlowLink& one : links) {
    const topology::Link& link = input.fabric().link(one.link);
    const bool are_both = one.slow[0] == one.slow[1];
    Finding finding = {.kind = FaultKind::kDegradedRate,
                       .place = {.kind = PlaceKind::kLink,
                                 .index = one.link,
                                 .sender = are_both ? kNone : link.ends[one.slow[0] ? 0 : 1]},
                       .confidence = 0.99,
                       .from = input.BeginOf(one.first),
                       .until = EndOfFault(input, one.behind),
                       .detected_at = input.EndOf(one.first)};
    finding.evidence.push_back(fmt::format(
        "its port reports {:.1f} Gb/s, and the topology declares {:.0f} Gb/s",
        static_cast<double>(one.least) / 1e9, static_cast<double>(link.bits_per_second) / 1e9));
    if (IsShared(input, links, one)) {
      Contradict(finding,
                 ", but so do most ports of this switch or fabric: the topology or the exporter is "
                 "probably wrong");
    }
    found.push_back(std::move(finding));
  }
}

// Whether an end shows that the link was down in these windows or next to them.
bool ShowsOutage(const DiagnosisInput& input, PortIndex end, const LinkHistory& history) {
  constexpr size_t kApart = 2;  // windows: the ends are read at different times
  const size_t from = history.first - std::min(history.first, kApart);
  const size_t until = std::min(history.behind + kApart, input.windows());
  const Entity entity = input.EntityOf(end);
  const Row up = input.Levels(entity, Metric::kLinkUp);
  const Row flaps = input.Growth(entity, Metric::kLinkFlaps);
  for (size_t w = from; w < until; ++w) {
    if (!up.empty() && input.HasReading(entity, Metric::kLinkUp, w) && up[w] == 0) return true;
    if (w < flaps.size() && flaps[w] > 0) return true;
  }
  return false;
}

// The end that did not count the outage, although both ends of a link notice one.
std::optional<PortIndex> EndThatContradicts(const DiagnosisInput& input, LinkIndex index,
                                            const LinkHistory& history) {
  constexpr size_t kLater = 2;  // windows, until the counter was certainly read
  const size_t read = history.second.value_or(history.first) + kLater;
  if (read >= input.windows()) return std::nullopt;
  for (const PortIndex end : input.fabric().link(index).ends) {
    const Entity entity = input.EntityOf(end);
    const MetricSeries* flaps = input.parts().metrics.Find(entity, Metric::kLinkFlaps);
    if (flaps == nullptr || flaps->restarts() > 0 || flaps->last_reading() < input.EndOf(read) ||
        flaps->first_reading() > input.BeginOf(history.first)) {
      continue;
    }
    const bool other_shows = ShowsOutage(input, input.fabric().Peer(end), history);
    if (other_shows && !ShowsOutage(input, end, history)) return end;
  }
  return std::nullopt;
}

// Whether the link went down so often that some reading of its state would have shown it down.
bool WasNeverSeenDown(const DiagnosisInput& input, LinkIndex index, const LinkHistory& history) {
  constexpr uint64_t kOften = 50;
  constexpr size_t kReadings = 20;
  if (history.times < kOften) return false;
  size_t readings = 0;
  for (const PortIndex end : input.fabric().link(index).ends) {
    const Entity entity = input.EntityOf(end);
    const Row up = input.Levels(entity, Metric::kLinkUp);
    for (size_t w = 0; w < up.size(); ++w) {
      if (!input.HasReading(entity, Metric::kLinkUp, w)) continue;
      if (up[w] == 0) return false;
      ++readings;
    }
  }
  return readings >= kReadings;
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
  const auto contradict = [&](Finding& finding) {
    if (WasNeverSeenDown(input, index, history)) {
      Contradict(finding,
                 ", but no reading shows it down: the counter of outages is probably wrong");
      return;
    }
    const auto end = EndThatContradicts(input, index, history);
    if (!end) return;
    Contradict(finding, fmt::format(", but {} counted no outage: the link state or the counter of "
                                    "the other end is probably wrong",
                                    input.fabric().NameOf(*end)));
  };
  if (history.second) {
    Finding finding = FindingOf(input, history, FaultKind::kFlap, place);
    finding.detected_at = input.EndOf(*history.second);
    finding.confidence = 0.99;
    finding.evidence.push_back(fmt::format("it went down {}", Counted(history.times, "time")));
    contradict(finding);
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
  if (finding.kind == FaultKind::kLinkDown) contradict(finding);
  found.push_back(std::move(finding));
}

// A port that the switch itself reported as up while its neighbours reported all links down. A
// switch that crashed reports nothing. The windows in which the outage begins and ends can have
// readings from before and after it. sFlow, which somebody may forge, does not count.
std::optional<PortIndex> PortThatWasUp(const DiagnosisInput& input, NodeIndex node,
                                       const SwitchOutage& outage) {
  const topology::Node& at = input.fabric().node(node);
  const size_t margin = input.link_state_windows();
  for (PortIndex port = at.first_port; port < at.first_port + at.port_count; ++port) {
    const Entity entity = input.EntityOf(port);
    const MetricSeries* series = input.parts().metrics.Find(entity, Metric::kLinkUp);
    if (series == nullptr || series->is_by_agent()) continue;
    const Row up = input.Levels(entity, Metric::kLinkUp);
    for (size_t w = outage.first + margin + 1; w + margin < outage.behind && w < up.size(); ++w) {
      if (up[w] != 0 && input.HasReading(entity, Metric::kLinkUp, w)) return port;
    }
  }
  return std::nullopt;
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
  if (const auto port = PortThatWasUp(input, node, outage)) {
    Contradict(finding,
               fmt::format(", but the switch itself reported {} as up: the link states that its "
                           "neighbours report are probably wrong",
                           input.fabric().NameOf(*port)));
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
  DetectSpeeds(input, found);
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
