// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/pair_answer.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {
namespace {

constexpr double kManagementConfidence = 0.999;

ConnectionEndpoint End(const FlowKey& key) {
  return {.segment = key.segment, .address = key.destination, .qpn = key.destination_qpn};
}

ConnectionEndpoint OtherEnd(const FlowKey& key, std::optional<Qpn> qpn) {
  return {.segment = key.segment, .address = key.source, .qpn = qpn};
}

// Returns the start of the flow's incarnation, and whether it was observed.
std::pair<Timestamp, bool> BeginOf(const FlowState& flow) {
  return flow.began ? std::pair(*flow.began, true) : std::pair(flow.first_seen, false);
}

class Writer {
 public:
  Writer(const FlowStore& store, const KnownPairs& known) : store_(store), known_(known) {}

  // Writes a pair of partners; `b` may be an unobserved queue pair number.
  PairConnection Pair(uint32_t a, uint32_t b, Qpn number_of_b, double confidence) const {
    const FlowState& flow = store_.flow(a);
    const FlowState* const other = b == kNoFlow ? nullptr : &store_.flow(b);
    PairConnection found;
    // In a loopback pair both flows are on side 0.
    const bool swapped = flow.side == 1 || (other != nullptr && other->side == 0 && b < a);
    found.flows[swapped ? 1 : 0] = a;
    found.flows[swapped ? 0 : 1] = b;
    Connection& c = found.connection;
    c.endpoints = {End(store_.key(a)), OtherEnd(store_.key(a), number_of_b)};
    const bool b_first = c.endpoints[1] < c.endpoints[0];
    if (b_first) std::swap(c.endpoints[0], c.endpoints[1]);
    c.state = ConnectionState::kPaired;
    c.confidence = confidence;
    c.transport = flow.transport;
    c.last_seen = flow.last_seen;
    if (other != nullptr) {
      c.transport = std::max(c.transport, other->transport);
      c.last_seen = std::max(c.last_seen, other->last_seen);
    }
    SetBeginning(flow, other, c);
    AddEvidence(a, number_of_b, c);
    // The source of `b`'s packets is the destination of `a`'s packets.
    const uint8_t end_of_a = b_first ? 1 : 0;
    if (other != nullptr) {
      AddEchoes(flow, b, {.echoed_by = end_of_a}, {.echoed_by = Opposite(end_of_a)}, c);
      AddEchoes(*other, a, {.echoed_by = Opposite(end_of_a)}, {.echoed_by = end_of_a}, c);
    }
    std::sort(c.evidence.begin(), c.evidence.end(), [](const auto& x, const auto& y) {
      return std::tie(x.kind, y.count, x.tap, x.echo_time, x.echoed_by) <
             std::tie(y.kind, x.count, y.tap, y.echo_time, y.echoed_by);
    });
    return found;
  }

  // Writes a flow without a partner; `candidates` are indices into `others`.
  PairConnection Single(uint32_t number, const std::vector<MatchCandidate>& candidates,
                        const std::vector<PairMember>& others) const {
    const FlowState& flow = store_.flow(number);
    PairConnection found;
    found.flows[flow.side] = number;
    Connection& c = found.connection;
    c.endpoints = {End(store_.key(number)), OtherEnd(store_.key(number), {})};
    c.transport = flow.transport;
    c.last_seen = flow.last_seen;
    std::tie(c.valid_from, c.beginning_seen) = BeginOf(flow);
    for (const MatchCandidate& candidate : candidates) {
      c.candidates.push_back(
          {.qpn = others[candidate.partner].qpn, .posterior = candidate.posterior});
    }
    std::sort(c.candidates.begin(), c.candidates.end(), [](const auto& x, const auto& y) {
      return x.posterior != y.posterior ? x.posterior > y.posterior : x.qpn < y.qpn;
    });
    c.state = c.candidates.empty() ? ConnectionState::kOneSided : ConnectionState::kAmbiguous;
    return found;
  }

 private:
  static uint8_t Opposite(uint8_t end) { return end == 0 ? 1 : 0; }

  void SetBeginning(const FlowState& flow, const FlowState* other, Connection& c) const {
    if (flow.management) {
      c.valid_from = flow.management->reply;
      c.beginning_seen = true;
      return;
    }
    std::tie(c.valid_from, c.beginning_seen) = BeginOf(flow);
    if (other == nullptr) return;
    const auto [begin, seen] = BeginOf(*other);
    c.valid_from = std::min(c.valid_from, begin);
    c.beginning_seen |= seen;
  }

  // Adds the evidence for the pair as a whole.
  void AddEvidence(FlowId number, Qpn partner, Connection& c) const {
    const FlowState& flow = store_.flow(number);
    if (flow.management) {
      const ManagementLink& link = *flow.management;
      c.evidence.push_back({.kind = EvidenceKind::kManagement,
                            .count = 1,
                            .tap = link.tap,
                            .cause_time = link.request,
                            .echo_time = link.reply,
                            .comm_ids = {link.comm_ids[0], link.comm_ids[1]}});
    }
    for (const uint32_t index : flow.known) {
      const std::optional<KnownPairs::Statement> known = known_.For(store_.key(number), index);
      if (!known || known->partner != partner) continue;
      c.evidence.push_back({.kind = known->source == KnownPairSource::kRdmaResource
                                        ? EvidenceKind::kRdmaResource
                                        : EvidenceKind::kNcclLog,
                            .count = 1});
      if (known->valid_from && !c.beginning_seen) c.valid_from = *known->valid_from;
    }
  }

  // Adds the uses of the flow's grants by `partner`, and the flow's responses to it.
  void AddEchoes(const FlowState& flow, uint32_t partner, ConnectionEvidence use_evidence,
                 ConnectionEvidence response_evidence, Connection& c) const {
    for (const GrantUse& use : flow.uses) {
      if (use.user != store_.VersionOf(partner)) continue;
      ConnectionEvidence& e = c.evidence.emplace_back(use_evidence);
      e.kind = EvidenceKind::kRethEcho;
      e.count = use.count;
      e.tap = use.tap;
      e.cause_time = use.granted;
      e.echo_time = use.used;
      e.address = use.address;
      e.rkey = use.rkey;
    }
    const FlowAtTap* const at_tap = BestTap(store_, flow);
    for (size_t i = 0; at_tap != nullptr && i < at_tap->candidates.size(); ++i) {
      const EchoCandidate& candidate = at_tap->candidates[i];
      if (candidate.requester != store_.VersionOf(partner)) continue;
      ConnectionEvidence& e = c.evidence.emplace_back(response_evidence);
      e.kind = EvidenceKind::kPsnEcho;
      e.count = candidate.hits;
      e.of = at_tap->trials - candidate.trials_before;
      e.tap = at_tap->tap;
      e.cause_time = candidate.response_time - std::chrono::microseconds(candidate.age_us);
      e.echo_time = candidate.response_time;
      e.psn = candidate.psn;
    }
  }

  const FlowStore& store_;
  const KnownPairs& known_;
};

// Joins the connections of all flows that use grants of one flow into one group. The group number
// is the smallest flow number + 1 until the whole answer is ordered.
class StripeGroups {
 public:
  StripeGroups(const FlowStore& store, std::vector<PairConnection>& connections)
      : store_(store), connections_(connections), groups_(connections.size()) {}

  void Assign(const HostPair& pair) {
    for (int side = 0; side < 2; ++side) {
      of_[side].assign(pair.flows[side].size(), kNoFlow);
    }
    for (uint32_t i = 0; i < connections_.size(); ++i) {
      for (const uint32_t flow : connections_[i].flows) {
        if (flow != kNoFlow) ConnectionOf(flow) = i;
      }
    }
    std::vector<uint32_t> striped;
    for (const std::vector<uint32_t>& side : pair.flows) {
      for (const uint32_t number : side) Join(number, striped);
    }
    for (const uint32_t i : striped) {
      const PairConnection& c = connections_[i];
      uint32_t& group = connections_[groups_.RootOf(i)].connection.stripe_group;
      const uint32_t lowest = std::min(c.flows[0], c.flows[1]) + 1;
      group = group == 0 ? lowest : std::min(group, lowest);
    }
    for (const uint32_t i : striped) {
      connections_[i].connection.stripe_group =
          connections_[groups_.RootOf(i)].connection.stripe_group;
    }
  }

 private:
  uint32_t& ConnectionOf(uint32_t flow) {
    const FlowState& state = store_.flow(flow);
    return of_[state.side][state.position];
  }

  void Join(uint32_t number, std::vector<uint32_t>& striped) {
    const uint32_t own = ConnectionOf(number);
    const std::vector<const GrantUse*> users = UsersOf(store_, store_.flow(number));
    if (own == kNoFlow || users.size() < 2) return;
    for (const GrantUse* use : users) {
      const uint32_t other = ConnectionOf(use->user.flow);
      if (other == kNoFlow) continue;
      groups_.Join(other, own);
      striped.insert(striped.end(), {own, other});
    }
  }

  const FlowStore& store_;
  std::vector<PairConnection>& connections_;
  DisjointSets groups_;
  std::vector<uint32_t> of_[2];  // index of a flow's connection by its position on its side
};

}  // namespace

std::vector<PairConnection> AnswerPair(const FlowStore& store, const KnownPairs& known,
                                       uint32_t pair_number) {
  const HostPair& pair = store.pair(pair_number);
  const Writer writer(store, known);
  std::vector<PairConnection> result;
  for (int side = 0; side < 2; ++side) {
    for (const uint32_t number : pair.flows[side]) {
      const uint32_t partner = store.flow(number).managed_partner();
      // Report each pair once: from side 0, or in a loopback pair from the lower number.
      if (partner == kNoFlow || (pair.IsLoopback() ? partner < number : side == 1)) continue;
      result.push_back(
          writer.Pair(number, partner, store.key(partner).destination_qpn, kManagementConfidence));
    }
  }
  const PairMatching matching = MatchPair(store, known, pair_number);
  for (int side = 0; side < 2; ++side) {
    for (const PairMember& member : matching.sides[side]) {
      if (member.flow() == kNoFlow) continue;
      const RowMatch& match = member.match;
      if (match.partner == UINT32_MAX) {
        result.push_back(writer.Single(member.flow(), match.candidates, matching.sides[1 - side]));
        continue;
      }
      const PairMember& partner = matching.sides[1 - side][match.partner];
      if (side == 1 && partner.flow() != kNoFlow) continue;  // already reported from side 0
      result.push_back(writer.Pair(member.flow(), partner.flow(), partner.qpn, match.confidence));
    }
  }
  StripeGroups(store, result).Assign(pair);
  return result;
}

PairConnection AnswerFlow(const FlowStore& store, const KnownPairs& known,
                          const PairMatching& matching, uint32_t number) {
  const FlowState& flow = store.flow(number);
  const Writer writer(store, known);
  if (const uint32_t partner = flow.managed_partner(); partner != kNoFlow) {
    return writer.Pair(number, partner, store.key(partner).destination_qpn, kManagementConfidence);
  }
  const std::vector<PairMember>& others = matching.sides[1 - flow.side];
  const std::vector<PairMember>& own = matching.sides[flow.side];
  const FlowVersion version = store.VersionOf(number);
  auto member = own.end();
  if (const uint32_t place = matching.PlaceOf(flow); place != kNoFlow) member = own.begin() + place;
  // The flow may have a different position now, because another flow was removed.
  if (member == own.end() || member->version != version) {
    member = std::ranges::find(own, version, &PairMember::version);
  }
  if (member == own.end()) return writer.Single(number, {}, others);
  const RowMatch& match = member->match;
  if (match.partner == UINT32_MAX) return writer.Single(number, match.candidates, others);
  const PairMember& partner = others[match.partner];
  if (partner.flow() != kNoFlow && !store.IsCurrent(partner.version)) {
    return writer.Single(number, {}, others);
  }
  return writer.Pair(number, partner.flow(), partner.qpn, match.confidence);
}

}  // namespace rocescope
