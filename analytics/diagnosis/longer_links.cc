// SPDX-License-Identifier: BSD-3-Clause
// Finds links whose delay from one switch to the next is longer than before.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/delay_shift.h"
#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

// A link that can explain longer delays of some pairs of taps.
struct Candidate {
  LinkIndex link = kNone;
  PortIndex sender = kNone;   // sender of the direction
  std::vector<size_t> pairs;  // indices, ascending
  size_t innocent = 0;        // paths over it that are not longer
};

struct Longer {
  Shift shift;
  bool by_int = false;  // INT reports alone show it
  size_t innocent = 0;
  std::vector<Candidate> alternatives;
};

// The key is link and sender; the shift is the one with the most windows if there are several.
using Shifts = std::map<std::pair<LinkIndex, PortIndex>, Longer>;

// The port of `from` that is connected to `to`; kNone if there are several.
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

// Sending ports between the two taps in order; empty if they are unknown.
std::vector<PortIndex> PathOf(const topology::Fabric& fabric, const DelayKey& key) {
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

// Short frames are faster than long frames by the transmission time on each link. A window without
// short frames must not look like a longer path.
int64_t MarginOf(const DiagnosisInput& input, const std::vector<PortIndex>& way) {
  uint64_t frames = 0;
  for (const PortIndex port : way) {
    frames += kFullFrameBits * 1'000'000'000 / std::max<uint64_t>(input.fabric().SpeedOf(port), 1);
  }
  const Thresholds& thresholds = input.thresholds();
  return std::max<int64_t>(thresholds.added_latency_ns,
                           static_cast<int64_t>(frames) + thresholds.clock_resolution_ns);
}

void Note(const DiagnosisInput& input, PortIndex sender, const Longer& longer, Shifts& shifts) {
  const auto [at, is_new] = shifts.try_emplace({input.fabric().port(sender).link, sender}, longer);
  if (is_new) return;
  const bool by_int = at->second.by_int && longer.by_int;
  if (longer.shift.windows > at->second.shift.windows) at->second = longer;
  at->second.by_int = by_int;
}

struct Pair {
  std::vector<PortIndex> way;
  Shift shift;
};

// Either of two links in a row may be the longer one. Greedily chooses the fewest links that
// explain all longer paths: first the link that most of them share, if most paths over it are
// longer. A link that explains the same paths is an alternative.
void NoteFewest(const DiagnosisInput& input,
                const std::map<PortIndex, std::pair<size_t, size_t>>& ways_of,
                std::vector<Pair> pairs, Shifts& shifts) {
  const auto is_likely = [&](PortIndex port) {
    const auto& [longer, all] = ways_of.at(port);
    return longer * 2 > all;
  };
  while (!pairs.empty()) {
    std::map<LinkIndex, Candidate> candidates;
    for (size_t i = 0; i < pairs.size(); ++i) {
      for (const PortIndex port : pairs[i].way) {
        if (!is_likely(port)) continue;
        const LinkIndex link = input.fabric().port(port).link;
        Candidate& candidate = candidates[link];
        if (candidate.link == kNone) candidate = {.link = link, .sender = port};
        candidate.pairs.push_back(i);
        candidate.innocent = ways_of.at(port).second - ways_of.at(port).first;
      }
    }
    if (candidates.empty()) return;
    const Candidate best = std::ranges::max_element(candidates, {}, [](const auto& entry) {
                             return std::pair(entry.second.pairs.size(),
                                              -static_cast<ptrdiff_t>(entry.second.innocent));
                           })->second;
    std::vector<Candidate> alternatives;
    for (const auto& [link, candidate] : candidates) {
      if (link != best.link && candidate.pairs == best.pairs) alternatives.push_back(candidate);
    }
    for (const size_t i : best.pairs) {
      for (const PortIndex port : pairs[i].way) {
        if (input.fabric().port(port).link != best.link) continue;
        Note(input, port,
             {.shift = pairs[i].shift, .innocent = best.innocent, .alternatives = alternatives},
             shifts);
      }
    }
    std::vector<Pair> rest;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (!std::ranges::binary_search(best.pairs, i)) rest.push_back(std::move(pairs[i]));
    }
    pairs = std::move(rest);
  }
}

// Divides the confidence among the alternatives. A link with more unchanged paths gets less.
void AddRivals(const Longer& longer, Finding& finding) {
  const auto weight = [](size_t innocent) { return 1 / (1 + static_cast<double>(innocent)); };
  double sum = weight(longer.innocent);
  for (const Candidate& rival : longer.alternatives) sum += weight(rival.innocent);
  if (longer.alternatives.empty()) return;
  const double all = finding.confidence;
  for (const Candidate& rival : longer.alternatives) {
    finding.alternatives.push_back(
        {.kind = finding.kind,
         .place = {.kind = PlaceKind::kLink, .index = rival.link, .sender = rival.sender},
         .probability = all * weight(rival.innocent) / sum});
  }
  std::ranges::sort(finding.alternatives, {}, [](const Suspect& rival) {
    return std::pair(-rival.probability, rival.place);
  });
  finding.confidence = all * weight(longer.innocent) / sum;
  finding.further.push_back("mirror sessions or INT of the switch between the two links");
}

// Joins the two directions of a link. An alternative must explain both directions.
Longer Joined(const Longer& a, const Longer& b) {
  Longer both = a;
  both.shift.first = std::min(a.shift.first, b.shift.first);
  both.shift.last = std::max(a.shift.last, b.shift.last);
  both.shift.detected_at = std::min(a.shift.detected_at, b.shift.detected_at);
  both.by_int = a.by_int && b.by_int;
  both.innocent = std::max(a.innocent, b.innocent);
  both.alternatives.clear();
  for (Candidate rival : a.alternatives) {
    const auto other = std::ranges::find(b.alternatives, rival.link, &Candidate::link);
    if (other == b.alternatives.end()) continue;
    rival.sender = kNone;
    rival.innocent = std::max(rival.innocent, other->innocent);
    both.alternatives.push_back(std::move(rival));
  }
  return both;
}

}  // namespace

void DetectLongerLinks(const DiagnosisInput& input, Findings& found) {
  if (input.is_spraying()) return;
  const topology::Fabric& fabric = input.fabric();
  Waits waits(input);
  Shifts shifts;
  std::vector<Pair> pairs;
  std::map<PortIndex, std::pair<size_t, size_t>>
      ways_of;  // paths over a port: longer ones, and all
  const Row shared = SharedDelays(input, DelayKind::kTransit, Of::kLeast);
  const size_t transits = CountDelays(input, DelayKind::kTransit);
  const size_t wires = CountDelays(input, DelayKind::kWire);
  for (const auto& [key, windows] : input.parts().delays) {
    if (key.kind != DelayKind::kTransit && key.kind != DelayKind::kWire) continue;
    const std::vector<PortIndex> way = PathOf(fabric, key);
    if (way.empty()) continue;
    Wait wait = key.kind == DelayKind::kTransit ? waits.Over(way) : Wait(input.windows());
    if (key.kind == DelayKind::kTransit) wait.shared = shared;
    wait.delays = key.kind == DelayKind::kTransit ? transits : wires;
    const auto shift = ShiftOf(input, windows, wait, Of::kLeast, MarginOf(input, way));
    for (const PortIndex port : way) {
      ways_of[port].first += shift.has_value();
      ++ways_of[port].second;
    }
    if (!shift) continue;
    if (way.size() == 1) {
      Note(input, way[0], {.shift = *shift, .by_int = key.kind == DelayKind::kWire}, shifts);
    } else {
      pairs.push_back({way, *shift});
    }
  }
  NoteFewest(input, ways_of, std::move(pairs), shifts);
  for (auto at = shifts.begin(); at != shifts.end(); ++at) {
    const LinkIndex link = at->first.first;
    const auto next = std::next(at);
    const bool both = next != shifts.end() && next->first.first == link;
    const Longer longer = both ? Joined(at->second, next->second) : at->second;
    Finding finding = FindingOf(
        input, FaultKind::kAddedLatency,
        {.kind = PlaceKind::kLink, .index = link, .sender = both ? kNone : at->first.second},
        longer.shift);
    finding.is_by_int = longer.by_int;
    AddRivals(longer, finding);
    finding.evidence.push_back(fmt::format(
        "packets from {} take {:.1f} us longer than before, even the fastest of {} in {}",
        fabric.NameOf(at->first.second), at->second.shift.by / 1000,
        Counted(at->second.shift.packets, "packet"), Counted(at->second.shift.windows, "window")));
    if (both) {
      finding.evidence.push_back(
          fmt::format("packets from {} also take longer", fabric.NameOf(next->first.second)));
      at = next;
    }
    found.push_back(std::move(finding));
  }
}

TimeToDetection TimeToDetectLongerLinks(FaultKind /*kind*/, const Thresholds& thresholds) {
  return TimeOfShift(Of::kLeast, thresholds);
}

}  // namespace rocescope
