// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/cabling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "analytics/cabling/link_claims.h"

namespace rocescope {

using topology::Fabric;
using topology::kNone;
using topology::LinkIndex;
using topology::PortIndex;

namespace {

// Limits the number of port pairs compared.
constexpr size_t kMaxSuspects = 1024;

// The link never carried traffic, or both ends report "down" and there are only counters.
constexpr double kSureOfDark = 0.9;
// Both switches report other ports but not these.
constexpr double kSureOfAbsent = 0.7;
// The port name may denote a LAG or a VLAN.
constexpr double kSureOfUnexpected = 0.6;
constexpr double kSureOfState = 0.7;

constexpr size_t kMaxInterrupted = 64;

bool ShareALink(const CableFinding& a, const CableFinding& b) {
  return std::ranges::find_first_of(a.declared, b.declared) != a.declared.end();
}

bool IsOver(const LinkClaims& claims, const CableFinding& finding) {
  return std::ranges::any_of(finding.declared,
                             [&](LinkIndex link) { return claims.IsConfirmed(link); });
}

void ByTraffic(const Fabric& fabric, const CablingOptions& options, const Adjacency& adjacency,
               LinkClaims& claims) {
  for (const auto& [receiver, arrivals] : adjacency.ByReceiver()) {
    const PortIndex declared = fabric.Peer(receiver);
    LinkClaim claim = {.since = Timestamp::max()};
    uint64_t most = 0;
    bool by_port = false;
    uint64_t of_ports = 0;  // flows with a known sending port that is not the declared one
    for (const auto& [sender, count] : arrivals.from) {
      const bool as_declared = sender.port == kNone ? sender.node == fabric.port(declared).node
                                                    : sender.port == declared;
      if (as_declared) {
        claim.against += count.flows;
        continue;
      }
      claim.flows += count.flows;
      claim.since = std::min(claim.since, count.since);
      if (sender.port != kNone) of_ports += count.flows;
      // A known port is better evidence than a known node.
      const bool better = sender.port != kNone && !by_port;
      if (better || (count.flows > most && (sender.port != kNone) == by_port)) {
        claim.sender = sender;
        most = count.flows;
        by_port = sender.port != kNone;
      }
    }
    const auto flows = static_cast<double>(claim.flows + claim.against);
    if (static_cast<double>(claim.against) >= options.clear_share * flows) {
      claims.Confirm(fabric.port(receiver).link);
      continue;
    }
    if (claim.flows < options.least_flows ||
        static_cast<double>(claim.flows) < options.clear_share * flows) {
      continue;
    }
    const uint64_t alternatives = by_port ? of_ports : claim.flows;
    if (static_cast<double>(most) < options.clear_share * static_cast<double>(alternatives)) {
      claim.sender = {};
    }
    claims.Contradict(receiver, claim);
  }
}

class CounterCheck {
 public:
  CounterCheck(const Fabric& fabric, const FabricCounters& counters, CounterSource source,
               FitTolerance tolerance)
      : fabric_(fabric), counters_(counters), source_(source), tolerance_(tolerance) {}

  void Straight(LinkClaims& claims) const {
    for (LinkIndex link = 0; link < fabric_.links().size(); ++link) {
      const auto [a, b] = fabric_.link(link).ends;
      const CounterFit forward = Compare(a, b);
      const CounterFit backward = Compare(b, a);
      if ((forward.Telling() && !backward.Contradicted()) ||
          (backward.Telling() && !forward.Contradicted())) {
        claims.Confirm(link);
      }
      for (const auto& [receiver, fit] : {std::pair(b, forward), std::pair(a, backward)}) {
        if (!fit.Contradicted()) continue;
        claims.Contradict(receiver, {.bytes = fit.excess,
                                     .readings = fit.readings,
                                     .by_counters = true,
                                     .since = fit.since});
      }
    }
  }

  // Connects ports whose counters match each other and no third port. With a swapped cable, a port
  // may receive less than its declared peer sent, which alone proves nothing.
  void Crosswise(LinkClaims& claims) const {
    const std::vector<LinkIndex> wrong = claims.Contradicted();
    if (wrong.empty()) return;
    const auto is_wrong = [&](PortIndex port) {
      return std::ranges::binary_search(wrong, fabric_.port(port).link);
    };
    std::vector<PortIndex> suspects;
    for (LinkIndex link = 0; link < fabric_.links().size(); ++link) {
      const auto [a, b] = fabric_.link(link).ends;
      if (!is_wrong(a) && !Loses(a, b) && !Loses(b, a)) continue;
      for (const PortIndex end : {a, b}) {
        if (counters_.Of(source_, end) != nullptr) suspects.push_back(end);
      }
    }
    if (suspects.size() > kMaxSuspects) return;
    std::vector<std::vector<PortIndex>> fitting(suspects.size());
    for (size_t i = 0; i < suspects.size(); ++i) {
      for (size_t j = i + 1; j < suspects.size(); ++j) {
        if (!is_wrong(suspects[i]) && !is_wrong(suspects[j])) continue;
        if (!Fit(suspects[i], suspects[j])) continue;
        fitting[i].push_back(suspects[j]);
        fitting[j].push_back(suspects[i]);
      }
    }
    for (size_t i = 0; i < suspects.size(); ++i) {
      if (fitting[i].size() != 1 || fitting[i].front() < suspects[i]) continue;
      const auto other =
          static_cast<size_t>(std::ranges::find(suspects, fitting[i].front()) - suspects.begin());
      if (fitting[other].size() == 1) claims.Connect(suspects[i], suspects[other]);
    }
  }

 private:
  CounterFit Compare(PortIndex sender, PortIndex receiver) const {
    const PortHistory* out = counters_.Of(source_, sender);
    const PortHistory* in = counters_.Of(source_, receiver);
    if (out == nullptr || in == nullptr) return {};
    FitTolerance tolerance = tolerance_;
    const LinkIndex index = fabric_.port(receiver).link;
    if (index == kNone) return {};
    const topology::Link& link = fabric_.link(index);
    const double seconds = static_cast<double>(link.delay.count()) / 1e9;
    tolerance.bytes +=
        static_cast<uint64_t>(seconds * static_cast<double>(link.bits_per_second) / 8);
    return CompareCounters(*out, *in, tolerance);
  }
  bool Loses(PortIndex sender, PortIndex receiver) const {
    const CounterFit fit = Compare(sender, receiver);
    return fit.Comparable() && !fit.Fits();
  }
  bool Fit(PortIndex a, PortIndex b) const {
    if (fabric_.port(a).node == fabric_.port(b).node) return false;
    const CounterFit forward = Compare(a, b);
    const CounterFit backward = Compare(b, a);
    return forward.Fits() && backward.Fits() && (forward.Telling() || backward.Telling());
  }

  const Fabric& fabric_;
  const FabricCounters& counters_;
  const CounterSource source_;
  const FitTolerance tolerance_;
};

// Checks links without link state or any other evidence that they exist.
class StateCheck {
 public:
  StateCheck(const Fabric& fabric, const FabricCounters& counters, const CablingOptions& options)
      : fabric_(fabric), counters_(counters), options_(options) {}

  void Find(std::vector<CableFinding>& findings) const {
    for (LinkIndex link = 0; link < fabric_.links().size(); ++link) {
      CableFinding finding = {.declared = {link}};
      if (Dark(link, finding) || Absent(link, finding) || Differs(link, finding)) {
        findings.push_back(std::move(finding));
      }
    }
  }

 private:
  // Both ends have been down since the first reading, and carried nothing before as far as their
  // counters show.
  bool Dark(LinkIndex link, CableFinding& finding) const {
    for (const PortIndex end : fabric_.link(link).ends) {
      const PortHistory* state = counters_.StateOf(end);
      if (state == nullptr || state->ever_up() || state->carried() ||
          state->state_readings() < options_.least_states) {
        return false;
      }
      finding.readings = std::max(finding.readings, state->state_readings());
      finding.since = finding.since == Timestamp{} ? state->first_state()
                                                   : std::min(finding.since, state->first_state());
    }
    finding.kind = CableFindingKind::kMissing;
    finding.confidence = kSureOfDark;
    return true;
  }

  // Both nodes report other ports, but neither reports its end of the link.
  bool Absent(LinkIndex link, CableFinding& finding) const {
    const auto& ends = fabric_.link(link).ends;
    bool told = false;
    for (const CounterSource source : kCounterSources) {
      for (const PortIndex end : ends) {
        if (counters_.Of(source, end) != nullptr) return false;
      }
      told = told || std::ranges::all_of(ends, [&](PortIndex end) {
               return counters_.TellsOf(source, fabric_.port(end).node);
             });
    }
    finding.kind = CableFindingKind::kMissing;
    finding.confidence = kSureOfAbsent;
    return told;
  }

  // One end is up and the other is down, most of the time and at the end.
  bool Differs(LinkIndex link, CableFinding& finding) const {
    std::array<const PortHistory*, 2> states = {};
    for (size_t i = 0; i < 2; ++i) states[i] = counters_.StateOf(fabric_.link(link).ends[i]);
    if (states[0] == nullptr || states[1] == nullptr || states[0]->up() == states[1]->up()) {
      return false;
    }
    Timestamp since = std::max(states[0]->first_state(), states[1]->first_state());
    Timestamp until = std::min(states[0]->last_state(), states[1]->last_state());
    const Timestamp begin = since;
    for (const PortHistory* state : states) {
      if (state->state_readings() < options_.least_states) return false;
      if (!state->transitions().empty()) since = std::max(since, state->transitions().back().by);
    }
    if (until - since < (until - begin) / 2 || until <= since) return false;
    finding.kind = CableFindingKind::kDisagrees;
    finding.confidence = kSureOfState;
    finding.state_differs = true;
    finding.readings = std::min(states[0]->state_readings(), states[1]->state_readings());
    finding.since = since;
    return true;
  }

  const Fabric& fabric_;
  const FabricCounters& counters_;
  const CablingOptions& options_;
};

}  // namespace

void Cabling::Add(const RecordBatch& batch, const BatchFlows& flows) {
  for (size_t i = 0; i < batch.flows.size(); ++i) adjacency_.Add(flows.flows[i], batch.flows[i]);
  for (size_t i = 0; i < batch.hops.size(); ++i) adjacency_.Add(flows.hops[i], batch.hops[i]);
  for (size_t i = 0; i < batch.samples.size(); ++i) {
    adjacency_.Add(flows.samples[i], batch.samples[i]);
  }
  for (const CounterRecord& record : batch.counters) {
    counters_.Add(record);
    now_ = std::max(now_, record.arrival_time);
  }
  for (const ReadingRecord& reading : batch.readings) {
    counters_.Add(reading, batch.ValuesOf(reading));
    now_ = std::max(now_, reading.arrival_time);
  }
  for (const FabricCounters::Interruption& one : counters_.TakeInterruptions()) {
    pending_.push_back(one);
  }
  if (!pending_.empty()) RestartEvidence();
}

void Cabling::Keep(const CableFinding& finding) {
  Interrupted kept = {.finding = finding};
  const auto same = std::ranges::find_if(interrupted_, [&](const Interrupted& other) {
    return !other.is_over && ShareALink(other.finding, finding);
  });
  if (same != interrupted_.end()) {
    kept.finding.since = std::min(kept.finding.since, same->finding.since);
    interrupted_.erase(same);
  }
  if (interrupted_.size() >= kMaxInterrupted) interrupted_.erase(interrupted_.begin());
  interrupted_.push_back(std::move(kept));
}

void Cabling::RestartEvidence() {
  // Limits the CPU time that flapping links cost. Until then, the evidence remains.
  constexpr Duration kMinBetween = std::chrono::seconds(1);
  if (now_ - restarted_ < kMinBetween) return;
  restarted_ = now_;
  std::map<LinkIndex, Timestamp> down;
  for (const auto& [port, time] : pending_) {
    const auto [at, is_new] = down.try_emplace(fabric_.port(port).link, time);
    if (!is_new) at->second = std::max(at->second, time);
  }
  const LinkClaims claims = Claims();
  for (Interrupted& one : interrupted_) one.is_over = one.is_over || IsOver(claims, one.finding);
  for (CableFinding& finding : claims.Findings()) {
    for (const LinkIndex link : finding.declared) {
      const auto at = down.find(link);
      if (at != down.end()) finding.until = std::max(finding.until, at->second);
    }
    if (finding.until != Timestamp{}) Keep(finding);
  }
  // Both ends lose their evidence, even if only one of them reports its state.
  for (const auto& [port, time] : pending_) {
    for (const PortIndex end : {port, fabric_.Peer(port)}) {
      counters_.DropReadingsBefore(end, time);
      adjacency_.DiscardBefore(end, time);
    }
  }
  pending_.clear();
}

// Traffic at a port is reliable evidence; counters alone may belong to a LAG.
void Cabling::FindUnexpected(std::vector<CableFinding>& findings) const {
  std::map<std::string, CableFinding> by_place;
  for (const auto& [key, seen] : adjacency_.unexpected()) {
    if (seen.packets < options_.least_packets) continue;
    const topology::Node& node = fabric_.node(key.first);
    const PortIndex port = fabric_.FindPortByNumber(key.first, key.second);
    CableFinding finding = {
        .kind = CableFindingKind::kUnexpected,
        .place = port == kNone ? fmt::format("{}:{}", node.name, key.second) : fabric_.NameOf(port),
        .confidence = kSureOfUnexpected,
        .packets = seen.packets,
        .since = seen.since};
    by_place[finding.place] = finding;
  }
  for (const auto& [place, series] : counters_.unexpected()) {
    const auto readings = series.history.readings();
    if (readings.size() < 2 || series.history.up() == false) continue;
    const uint64_t bytes = readings.back().received - readings.front().received;
    if (bytes < options_.least_bytes) continue;
    CableFinding& finding = by_place[place];
    if (finding.place.empty()) finding.since = readings.front().time;
    finding.kind = CableFindingKind::kUnexpected;
    finding.place = place;
    finding.confidence = kSureOfUnexpected;
    finding.bytes = bytes;
    finding.readings = readings.size();
  }
  for (auto& [place, finding] : by_place) findings.push_back(std::move(finding));
}

std::vector<LinkChange> Cabling::LinkChanges() const {
  std::vector<LinkChange> changes;
  for (LinkIndex link = 0; link < fabric_.links().size(); ++link) {
    for (const PortIndex end : fabric_.link(link).ends) {
      const PortHistory* state = counters_.StateOf(end);
      if (state == nullptr) continue;
      for (const LinkTransition& transition : state->transitions()) {
        changes.push_back(
            {.link = link, .after = transition.after, .by = transition.by, .up = transition.up});
      }
    }
  }
  std::ranges::sort(changes, [](const LinkChange& a, const LinkChange& b) {
    return std::tie(a.link, a.by, a.after) < std::tie(b.link, b.by, b.after);
  });
  return changes;
}

LinkClaims Cabling::Claims() const {
  LinkClaims claims(fabric_);
  ByTraffic(fabric_, options_, adjacency_, claims);
  const std::array<CounterCheck, 2> checks = {
      CounterCheck(fabric_, counters_, CounterSource::kNamed, options_.fit),
      CounterCheck(fabric_, counters_, CounterSource::kSflow, options_.fit)};
  for (const CounterCheck& check : checks) check.Straight(claims);
  for (const CounterCheck& check : checks) check.Crosswise(claims);
  return claims;
}

CablingAnswer Cabling::Answer() const {
  const LinkClaims claims = Claims();
  CablingAnswer answer = {.findings = claims.Findings(),
                          .links = fabric_.links().size(),
                          .confirmed = claims.CountConfirmed(),
                          .contradicted = claims.Contradicted().size(),
                          .counters = counters_.strangers(),
                          .switches = adjacency_.strangers(),
                          .flows_refused = adjacency_.flows_refused(),
                          .flows_evicted = adjacency_.flows_evicted()};
  // A swap whose link was down is still there, unless evidence since then agrees with the topology.
  for (const Interrupted& one : interrupted_) {
    if (one.is_over || IsOver(claims, one.finding)) {
      answer.ended.push_back(one.finding);
      continue;
    }
    const auto again = std::ranges::find_if(answer.findings, [&](const CableFinding& finding) {
      return ShareALink(finding, one.finding);
    });
    if (again == answer.findings.end()) {
      answer.findings.push_back(one.finding);
      answer.findings.back().until = {};
    } else {
      again->since = std::min(again->since, one.finding.since);
    }
  }
  StateCheck(fabric_, counters_, options_).Find(answer.findings);
  FindUnexpected(answer.findings);
  std::ranges::sort(answer.findings, [](const CableFinding& a, const CableFinding& b) {
    return std::tie(b.confidence, a.declared, a.place) <
           std::tie(a.confidence, b.declared, b.place);
  });
  return answer;
}

}  // namespace rocescope
