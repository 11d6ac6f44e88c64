// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/pair_answer.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analytics/connection/matching.h"

namespace rocescope {
namespace {

constexpr double kManagementConfidence = 0.999;
constexpr double kOneQueuePairOdds = 0.85 / 0.15;  // that a grant's user is the grant's partner,
                                                   // and not one of several stripes
constexpr double kKnownObservations = 7;           // at most 1 - 2^-7 on outside knowledge alone
constexpr uint32_t kMaximumUses = 6;               // beyond, further echoes add no certainty
constexpr int32_t kNearPsns = 1 << 14;   // more than is in flight, or between two taps' records
constexpr size_t kComparedFlows = 4096;  // of more, all are suspects: the search is quadratic
constexpr uint32_t kNearZero = 1 << 16;
constexpr double kStripeShare = 0.25;  // a stripe carries at least this part of the busiest one

double KnownOdds(KnownPairSource source) {
  return source == KnownPairSource::kRdmaResource ? 1000 : 300;
}

class PairAnswer {
 public:
  PairAnswer(const FlowStore& store, uint32_t pair) : store_(store), pair_(store.pair(pair)) {}

  std::vector<PairConnection> Run() {
    JoinManaged();
    for (int side = 0; side < 2; ++side) Collect(side);
    for (int side = 0; side < 2; ++side) rows_[side].resize(members_[side].size());
    if (!pair_.IsLoopback()) {  // there both directions lie on one side
      for (int side = 0; side < 2; ++side) {
        for (uint32_t i = 0; i < members_[side].size(); ++i) AddRow(side, i);
      }
      for (int side = 0; side < 2; ++side) {
        for (uint32_t i = 0; i < members_[side].size(); ++i) AddShared(side, i);
      }
    }
    Report(MatchFlows(rows_[0], rows_[1]));
    GroupStripes();
    return std::move(result_);
  }

 private:
  const FlowState& FlowOf(uint32_t number) const { return store_.flow(number); }

  void JoinManaged() {
    for (int side = 0; side < 2; ++side) {
      for (const uint32_t number : pair_.flows[side]) {
        const FlowState& flow = FlowOf(number);
        const uint32_t partner = flow.management.partner;
        // Each pair once: from side 0, or in a loopback pair from the lower number.
        if (partner == kNoFlow || (pair_.IsLoopback() ? partner < number : side == 1)) continue;
        Pair(side == 0 ? number : partner, side == 0 ? partner : number, kManagementConfidence);
      }
    }
  }

  void Collect(int side) {
    place_[side].assign(pair_.flows[side].size(), kNoFlow);
    for (const uint32_t number : pair_.flows[side]) {
      const FlowState& flow = FlowOf(number);
      if (flow.management.partner != kNoFlow) continue;
      bool stated = false;  // a flow nobody saw can still be the partner of one that was
      for (const KnownLink& link : flow.known) stated |= FlowOf(link.partner).active;
      if (!flow.active && !stated) continue;
      place_[side][flow.position] = static_cast<uint32_t>(members_[side].size());
      members_[side].push_back(number);
    }
  }

  // The tap whose view of the flow's responses says most.
  const FlowAtTap* BestTap(const FlowState& flow) const {
    const FlowAtTap* best = nullptr;
    uint32_t best_hits = 0;
    for (uint32_t i = flow.first_at_tap; i != kNoFlow; i = store_.at_tap(i).next) {
      const FlowAtTap& at_tap = store_.at_tap(i);
      uint32_t hits = 0;
      for (size_t c = 0; c < at_tap.candidate_count; ++c) {
        hits = std::max(hits, at_tap.candidates[c].hits);
      }
      if (at_tap.trials == 0) continue;
      const auto rank = [](uint32_t h, const FlowAtTap& t) {
        return std::tuple(h, t.trials, -static_cast<int>(t.tap));
      };
      if (best == nullptr || rank(hits, at_tap) > rank(best_hits, *best)) {
        best = &at_tap;
        best_hits = hits;
      }
    }
    return best;
  }

  PartnerClaim& ClaimOn(int side, uint32_t member, uint32_t partner_place) {
    MatchRow& row = rows_[side][member];
    for (PartnerClaim& claim : row.claims) {
      if (claim.partner == partner_place) return claim;
    }
    row.claims.push_back({.partner = partner_place, .trials = row.trials});
    return row.claims.back();
  }

  uint32_t PlaceOf(int side, uint32_t number) const {
    return place_[side][FlowOf(number).position];
  }

  // PSN echo.
  void AddRow(int side, uint32_t member) {
    const FlowAtTap* at_tap = BestTap(FlowOf(members_[side][member]));
    if (at_tap == nullptr) return;
    MatchRow& row = rows_[side][member];
    row.tap = at_tap->tap;
    row.trials = at_tap->trials;
    row.visible = std::min<uint32_t>(store_.requesters(at_tap->reverse_channel),
                                     static_cast<uint32_t>(members_[1 - side].size()));
    if (row.visible < members_[1 - side].size()) row.suspects = SuspectsOf(*at_tap, 1 - side);
    for (size_t c = 0; c < at_tap->candidate_count; ++c) {
      const EchoCandidate& candidate = at_tap->candidates[c];
      const uint32_t place = PlaceOf(1 - side, candidate.flow);
      if (place == kNoFlow) continue;
      PartnerClaim& claim = ClaimOn(side, member, place);
      claim.hits = candidate.hits;
      row.zero_based |= candidate.psn < kNearZero || FlowOf(candidate.flow).zero_seen;
      claim.trials = at_tap->trials - candidate.trials_before;
    }
  }

  // Flows whose requests the tap does not see, and whose PSNs elsewhere come near its responses.
  uint32_t SuspectsOf(const FlowAtTap& responder, int side) const {
    uint32_t suspects = 0;
    if (members_[side].size() > kComparedFlows) return static_cast<uint32_t>(members_[side].size());
    for (const uint32_t number : members_[side]) {
      const FlowState& flow = FlowOf(number);
      if (!flow.requested) continue;
      const int32_t apart = PsnDistance(responder.furthest_response, flow.last_request_psn);
      if (apart < -kNearPsns || apart > kNearPsns) continue;
      bool seen = false;
      for (uint32_t i = flow.first_at_tap; i != kNoFlow; i = store_.at_tap(i).next) {
        seen |= store_.at_tap(i).tap == responder.tap && store_.at_tap(i).sends_requests;
      }
      suspects += !seen;
    }
    return suspects;
  }

  // The users of a flow's grants that carry a real share of them.
  std::vector<const GrantUse*> Users(const FlowState& flow) const {
    uint32_t most = 0;
    for (const GrantUse& use : flow.uses) most = std::max(most, use.count);
    std::vector<const GrantUse*> users;
    for (const GrantUse& use : flow.uses) {
      if (use.count >= kStripeShare * most) users.push_back(&use);
    }
    return users;
  }

  // RETH echo and outside knowledge: they belong to the pair, so both rows hear of them.
  void AddShared(int side, uint32_t member) {
    const uint32_t number = members_[side][member];
    const FlowState& flow = FlowOf(number);
    const double rivals = std::max<double>(1, static_cast<double>(members_[1 - side].size()) - 1);
    const std::vector<const GrantUse*> users = Users(flow);
    for (const GrantUse* use : users) {
      const uint32_t place = PlaceOf(1 - side, use->flow);
      if (place == kNoFlow) continue;
      const double uses = std::min(use->count, kMaximumUses);
      double evidence;
      double observations = 0;
      if (users.size() == 1) {
        evidence = std::log(kOneQueuePairOdds * rivals) + uses * std::log(2.0);
        observations = 2 * uses;
      } else {  // one of the stripes is the partner, the grant cannot tell which
        evidence = std::log(20 * std::max(1.0, rivals / static_cast<double>(users.size())));
      }
      AddToBoth(side, member, place, evidence, observations);
    }
    for (const KnownLink& link : flow.known) {
      const uint32_t place = PlaceOf(1 - side, link.partner);
      // The link stands at both flows; count it from side 0.
      if (place == kNoFlow || side == 1) continue;
      AddToBoth(side, member, place, std::log(KnownOdds(link.source) * (rivals + 1)),
                kKnownObservations);
    }
  }

  void AddToBoth(int side, uint32_t member, uint32_t place, double evidence, double observations) {
    PartnerClaim& own = ClaimOn(side, member, place);
    own.log_evidence += evidence;
    own.observations += observations;
    PartnerClaim& others = ClaimOn(1 - side, place, member);
    others.log_evidence += evidence;
    others.observations += observations;
  }

  void Report(const Matching& matching) {
    for (int side = 0; side < 2; ++side) {
      for (uint32_t i = 0; i < members_[side].size(); ++i) {
        const RowMatch& match = matching.sides[side][i];
        if (match.partner != UINT32_MAX) {
          if (side == 0) Pair(members_[0][i], members_[1][match.partner], match.confidence);
        } else if (FlowOf(members_[side][i]).active) {
          Single(side, members_[side][i], match);
        }
      }
    }
  }

  static ConnectionEndpoint End(const FlowState& flow) {
    return {.segment = flow.key.segment,
            .address = flow.key.destination,
            .qpn = flow.key.destination_qpn};
  }

  // When the flow's incarnation began, and whether that was seen.
  static std::pair<Timestamp, bool> BeginOf(const FlowState& flow) {
    return flow.began ? std::pair(*flow.began, true) : std::pair(flow.first_seen, false);
  }

  void Pair(uint32_t number0, uint32_t number1, double confidence) {
    const FlowState& flow0 = FlowOf(number0);
    const FlowState& flow1 = FlowOf(number1);
    PairConnection found{.flows = {number0, number1}, .connection = {}};
    Connection& c = found.connection;
    c.endpoints = {End(flow0), End(flow1)};
    if (c.endpoints[1] < c.endpoints[0]) std::swap(c.endpoints[0], c.endpoints[1]);
    c.state = ConnectionState::kPaired;
    c.transport = std::max(flow0.transport, flow1.transport);
    c.confidence = confidence;
    c.last_seen = std::max(flow0.last_seen, flow1.last_seen);
    SetBeginning(flow0, flow1, c);
    AddEvidence(flow0, number0, flow1, number1, c);
    result_.push_back(std::move(found));
  }

  void SetBeginning(const FlowState& flow0, const FlowState& flow1, Connection& c) const {
    if (flow0.management.partner != kNoFlow) {
      c.valid_from = flow0.management.reply;
      c.beginning_seen = true;
      return;
    }
    bool any = false;
    for (const FlowState* flow : {&flow0, &flow1}) {
      if (!flow->active) continue;
      const auto [begin, seen] = BeginOf(*flow);
      if (!any || begin < c.valid_from) c.valid_from = begin;
      c.beginning_seen |= seen;
      any = true;
    }
    for (const KnownLink& link : flow0.known) {
      if (link.valid_from && !c.beginning_seen) c.valid_from = *link.valid_from;
    }
  }

  void AddEvidence(const FlowState& flow0, uint32_t number0, const FlowState& flow1,
                   uint32_t number1, Connection& c) const {
    if (const ManagementLink& link = flow0.management; link.partner != kNoFlow) {
      c.evidence.push_back({.kind = EvidenceKind::kManagement,
                            .count = 1,
                            .tap = link.tap,
                            .cause_time = link.request,
                            .echo_time = link.reply,
                            .comm_ids = {link.comm_ids[0], link.comm_ids[1]}});
    }
    for (const KnownLink& link : flow0.known) {
      if (link.partner != number1) continue;
      c.evidence.push_back({.kind = link.source == KnownPairSource::kRdmaResource
                                        ? EvidenceKind::kRdmaResource
                                        : EvidenceKind::kNcclLog,
                            .count = 1});
    }
    for (const auto& [granter, user] : {std::pair(&flow0, number1), std::pair(&flow1, number0)}) {
      for (const GrantUse& use : granter->uses) {
        if (use.flow != user) continue;
        c.evidence.push_back({.kind = EvidenceKind::kRethEcho,
                              .count = use.count,
                              .tap = use.tap,
                              .cause_time = use.granted,
                              .echo_time = use.used,
                              .address = use.address,
                              .rkey = use.rkey});
      }
    }
    AddPsnEvidence(flow0, number1, c);
    AddPsnEvidence(flow1, number0, c);
    std::sort(c.evidence.begin(), c.evidence.end(), [](const auto& a, const auto& b) {
      return std::tie(a.kind, b.count, a.tap, a.echo_time) <
             std::tie(b.kind, a.count, b.tap, b.echo_time);
    });
  }

  void AddPsnEvidence(const FlowState& responder, uint32_t requester, Connection& c) const {
    const FlowAtTap* at_tap = BestTap(responder);
    for (size_t i = 0; at_tap != nullptr && i < at_tap->candidate_count; ++i) {
      const EchoCandidate& candidate = at_tap->candidates[i];
      if (candidate.flow != requester) continue;
      c.evidence.push_back({.kind = EvidenceKind::kPsnEcho,
                            .count = candidate.hits,
                            .of = at_tap->trials - candidate.trials_before,
                            .tap = at_tap->tap,
                            .cause_time = candidate.request_time,
                            .echo_time = candidate.response_time,
                            .psn = candidate.psn});
    }
  }

  void Single(int side, uint32_t number, const RowMatch& match) {
    const FlowState& flow = FlowOf(number);
    PairConnection found;
    found.flows[side] = number;
    Connection& c = found.connection;
    c.endpoints[0] = End(flow);
    c.endpoints[1] = {.segment = flow.key.segment, .address = flow.key.source, .qpn = {}};
    c.transport = flow.transport;
    c.last_seen = flow.last_seen;
    std::tie(c.valid_from, c.beginning_seen) = BeginOf(flow);
    for (const MatchCandidate& candidate : match.candidates) {
      const FlowState& partner = FlowOf(members_[1 - side][candidate.partner]);
      c.candidates.push_back(
          {.qpn = partner.key.destination_qpn, .posterior = candidate.posterior});
    }
    std::sort(c.candidates.begin(), c.candidates.end(), [](const auto& a, const auto& b) {
      return a.posterior != b.posterior ? a.posterior > b.posterior : a.qpn < b.qpn;
    });
    c.state = c.candidates.empty() ? ConnectionState::kOneSided : ConnectionState::kAmbiguous;
    result_.push_back(std::move(found));
  }

  // Flows whose grants several flows use join the connections of all of them in one group; the
  // number is the group's smallest flow number + 1 until the whole answer is ordered.
  void GroupStripes() {
    for (int side = 0; side < 2; ++side) {
      for (const uint32_t number : pair_.flows[side]) {
        const std::vector<const GrantUse*> users = Users(FlowOf(number));
        if (users.size() < 2) continue;
        for (const GrantUse* use : users) Join(number, use->flow);
      }
    }
  }

  void Join(uint32_t a, uint32_t b) {
    PairConnection* of_a = ConnectionOf(a);
    PairConnection* of_b = ConnectionOf(b);
    if (of_a == nullptr || of_b == nullptr) return;
    const auto lowest = [](const PairConnection& c) {
      return std::min(c.flows[0], c.flows[1]) + 1;
    };
    for (PairConnection* c : {of_a, of_b}) {
      if (c->connection.stripe_group == 0) c->connection.stripe_group = lowest(*c);
    }
    const uint32_t from = of_b->connection.stripe_group;
    const uint32_t to = of_a->connection.stripe_group;
    for (PairConnection& c : result_) {
      if (c.connection.stripe_group == from) c.connection.stripe_group = to;
    }
  }

  PairConnection* ConnectionOf(uint32_t flow) {
    for (PairConnection& c : result_) {
      if (c.flows[0] == flow || c.flows[1] == flow) return &c;
    }
    return nullptr;
  }

  const FlowStore& store_;
  const HostPair& pair_;
  std::vector<uint32_t> members_[2];  // flows that take part in the matching
  std::vector<uint32_t> place_[2];    // of a flow's position among the members
  std::vector<MatchRow> rows_[2];
  std::vector<PairConnection> result_;
};

}  // namespace

std::vector<PairConnection> AnswerPair(const FlowStore& store, uint32_t pair) {
  return PairAnswer(store, pair).Run();
}

}  // namespace rocescope
