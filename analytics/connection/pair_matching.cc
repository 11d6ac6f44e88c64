// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/pair_matching.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/qpn.h"

namespace rocescope {
namespace {

// Odds that a grant's only user is its partner, rather than one of several stripes of which the
// others were not observed yet: NCCL has one queue pair per connection unless
// NCCL_IB_QPS_PER_CONNECTION is set.
constexpr double kOneQueuePairOdds = 0.85 / 0.15;
constexpr double kStripeOdds = 20;  // odds that the partner is among the stripes that use its grant
constexpr double kKnownObservations = 7;  // known pairs alone give at most 1 - 2^-7
// `rdma resource`: the kernel's own numbers, possibly outdated
constexpr double kKernelOdds = 1000;
constexpr double kLogOdds = 300;        // a log may additionally be from an earlier run
constexpr uint32_t kMaximumUses = 6;    // further echoes add no certainty
constexpr int32_t kNearPsns = 1 << 14;  // more than is in flight, or between two taps' records
// If there are more flows, all are suspects, because the search is quadratic.
constexpr size_t kComparedFlows = 4096;
constexpr uint32_t kNearZero = 1 << 16;
constexpr double kStripeShare = 0.25;  // minimum share of the busiest stripe's traffic

class PairMatcher {
 public:
  PairMatcher(const FlowStore& store, const KnownPairs& known, uint32_t pair)
      : store_(store), known_(known), pair_(store.pair(pair)) {}

  PairMatching Run() {
    for (int side = 0; side < 2; ++side) Collect(side);
    for (int side = 0; side < 2; ++side) NameUnseen(side);
    for (int side = 0; side < 2; ++side) rows_[side].resize(Members(side).size());
    if (!pair_.IsLoopback()) {  // in a loopback pair both directions are on one side
      for (int side = 0; side < 2; ++side) {
        for (uint32_t i = 0; i < Members(side).size(); ++i) AddResponses(side, i);
      }
      for (int side = 0; side < 2; ++side) {
        for (uint32_t i = 0; i < Members(side).size(); ++i) AddGrants(side, i);
      }
      AddKnown();
    }
    Matching matching = MatchFlows(rows_[0], rows_[1]);
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < Members(side).size(); ++i) {
        Members(side)[i].match = std::move(matching.sides[side][i]);
      }
    }
    return std::move(result_);
  }

 private:
  struct Stated {
    uint32_t place[2];
    KnownPairSource source;
    auto operator<=>(const Stated&) const = default;
  };

  std::vector<PairMember>& Members(int side) { return result_.sides[side]; }
  const FlowState& FlowOf(uint32_t number) const { return store_.flow(number); }

  void Collect(int side) {
    result_.places[side].assign(pair_.flows[side].size(), kNoFlow);
    for (const uint32_t number : pair_.flows[side]) {
      const FlowState& flow = FlowOf(number);
      if (flow.management || !flow.active) continue;
      result_.places[side][flow.position] = static_cast<uint32_t>(Members(side).size());
      Members(side).push_back({.version = store_.VersionOf(number),
                               .qpn = store_.key(number).destination_qpn,
                               .match = {}});
    }
  }

  // An unobserved queue pair can be the partner of an observed one.
  void NameUnseen(int side) {
    const size_t seen = Members(side).size();
    for (uint32_t place = 0; place < seen && Members(side)[place].flow() != kNoFlow; ++place) {
      const FlowId number = Members(side)[place].flow();
      const FlowKey& key = store_.key(number);
      for (const uint32_t index : FlowOf(number).known) {
        const std::optional<KnownPairs::Statement> known = known_.For(key, index);
        if (!known) continue;
        const uint32_t partner = PlaceNamed(1 - side, key, known->partner);
        if (partner == kNoFlow) continue;
        Stated stated{.place = {place, partner}, .source = known->source};
        if (side == 1) std::swap(stated.place[0], stated.place[1]);
        stated_.push_back(stated);
      }
    }
  }

  // Returns the member of the side with this number, created if no flow has it. Returns kNoFlow if
  // its flow does not take part: it is paired by a CM exchange, or of a later incarnation than the
  // known pair.
  uint32_t PlaceNamed(int side, const FlowKey& from, Qpn qpn) {
    const FlowId flow = store_.Find({.source = from.destination,
                                     .destination = from.source,
                                     .destination_qpn = qpn,
                                     .segment = from.segment});
    if (flow != kNoFlow) {
      const FlowState& state = FlowOf(flow);
      if (state.known_outdated || state.management) return kNoFlow;
      if (state.active) return result_.PlaceOf(state);
    }
    for (auto i = static_cast<uint32_t>(Members(side).size()); i-- > 0;) {
      if (Members(side)[i].flow() != kNoFlow) break;  // created members come last
      if (Members(side)[i].qpn == qpn) return i;
    }
    Members(side).push_back({.version = {}, .qpn = qpn, .match = {}});
    return static_cast<uint32_t>(Members(side).size() - 1);
  }

  PartnerClaim& ClaimOn(int side, uint32_t member, uint32_t partner) {
    MatchRow& row = rows_[side][member];
    for (PartnerClaim& claim : row.claims) {
      if (claim.partner == partner) return claim;
    }
    row.claims.push_back({.partner = partner, .trials = row.trials});
    return row.claims.back();
  }

  // Adds the evidence from PSN echo.
  void AddResponses(int side, uint32_t member) {
    if (Members(side)[member].flow() == kNoFlow) return;
    const FlowAtTap* at_tap = BestTap(store_, FlowOf(Members(side)[member].flow()));
    if (at_tap == nullptr) return;
    const size_t others = Members(1 - side).size();
    MatchRow& row = rows_[side][member];
    row.tap = at_tap->tap;
    row.trials = at_tap->trials;
    row.ordered = IsOrdered(*at_tap);
    row.visible = std::min<uint32_t>(store_.requesters(at_tap->reverse_channel),
                                     static_cast<uint32_t>(others));
    if (row.visible < others) row.suspects = SuspectsOf(*at_tap, 1 - side);
    for (size_t c = 0; c < at_tap->candidates.size(); ++c) {
      const EchoCandidate& candidate = at_tap->candidates[c];
      if (!store_.IsCurrent(candidate.requester)) continue;
      const FlowState& requester = FlowOf(candidate.requester.flow);
      const uint32_t place = result_.PlaceOf(requester);
      if (place == kNoFlow) continue;
      PartnerClaim& claim = ClaimOn(side, member, place);
      claim.hits = candidate.hits;
      claim.trials = at_tap->trials - candidate.trials_before;
      row.zero_based |= candidate.psn < kNearZero || requester.zero_seen;
    }
  }

  // Counts flows whose requests the tap does not observe, but whose PSNs elsewhere are close to its
  // responses.
  uint32_t SuspectsOf(const FlowAtTap& responder, int side) {
    if (Members(side).size() > kComparedFlows) return static_cast<uint32_t>(Members(side).size());
    uint32_t suspects = 0;
    for (const PairMember& member : Members(side)) {
      if (member.flow() == kNoFlow || !FlowOf(member.flow()).requested) continue;
      const FlowState& flow = FlowOf(member.flow());
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

  double RivalsOf(int side) {
    return std::max<double>(1, static_cast<double>(Members(1 - side).size()) - 1);
  }

  void AddGrants(int side, uint32_t member) {
    if (Members(side)[member].flow() == kNoFlow) return;
    const std::vector<const GrantUse*> users =
        UsersOf(store_, FlowOf(Members(side)[member].flow()));
    const double alternatives = RivalsOf(side);
    for (const GrantUse* use : users) {
      const uint32_t place = result_.PlaceOf(FlowOf(use->user.flow));
      if (place == kNoFlow) continue;
      const double uses = std::min(use->count, kMaximumUses);
      if (users.size() == 1) {
        AddToBoth(side, member, place,
                  std::log(kOneQueuePairOdds * alternatives) + uses * std::log(2.0), 2 * uses);
      } else {  // one of the stripes is the partner, but the grant does not identify it
        const double evidence =
            std::log(kStripeOdds * std::max(1.0, alternatives / static_cast<double>(users.size())));
        AddToBoth(side, member, place, evidence, 0);
      }
    }
  }

  void AddKnown() {
    std::sort(stated_.begin(), stated_.end());  // both ends state the pair: count it once
    stated_.erase(std::unique(stated_.begin(), stated_.end()), stated_.end());
    for (const Stated& known : stated_) {
      const double odds = known.source == KnownPairSource::kRdmaResource ? kKernelOdds : kLogOdds;
      AddToBoth(0, known.place[0], known.place[1], std::log(odds * (RivalsOf(0) + 1)),
                kKnownObservations);
    }
  }

  // Grants and known pairs are evidence about the pair, so they count for both rows.
  void AddToBoth(int side, uint32_t member, uint32_t place, double evidence, double observations) {
    for (PartnerClaim* claim : {&ClaimOn(side, member, place), &ClaimOn(1 - side, place, member)}) {
      claim->log_evidence += evidence;
      claim->observations += observations;
    }
  }

  const FlowStore& store_;
  const KnownPairs& known_;
  const HostPair& pair_;
  std::vector<Stated> stated_;
  std::vector<MatchRow> rows_[2];
  PairMatching result_;
};

}  // namespace

PairMatching MatchPair(const FlowStore& store, const KnownPairs& known, uint32_t pair) {
  return PairMatcher(store, known, pair).Run();
}

// Whether the order identified the request of most responses.
bool IsOrdered(const FlowAtTap& at_tap) { return 2 * at_tap.ordered > at_tap.trials; }

const FlowAtTap* BestTap(const FlowStore& store, const FlowState& flow) {
  const FlowAtTap* best = nullptr;
  std::tuple<bool, uint32_t, uint32_t, int> best_rank;
  for (uint32_t i = flow.first_at_tap; i != kNoFlow; i = store.at_tap(i).next) {
    const FlowAtTap& at_tap = store.at_tap(i);
    if (at_tap.trials == 0) continue;
    uint32_t hits = 0;
    for (size_t c = 0; c < at_tap.candidates.size(); ++c) {
      const EchoCandidate& candidate = at_tap.candidates[c];
      if (store.IsCurrent(candidate.requester)) hits = std::max(hits, candidate.hits);
    }
    const std::tuple rank(hits > 0 && IsOrdered(at_tap), hits, at_tap.trials,
                          -static_cast<int>(at_tap.tap));
    if (best != nullptr && rank <= best_rank) continue;
    best = &at_tap;
    best_rank = rank;
  }
  return best;
}

std::vector<const GrantUse*> UsersOf(const FlowStore& store, const FlowState& flow) {
  uint32_t most = 0;
  for (const GrantUse& use : flow.uses) {
    if (store.IsCurrent(use.user)) most = std::max(most, use.count);
  }
  std::vector<const GrantUse*> users;
  for (const GrantUse& use : flow.uses) {
    if (store.IsCurrent(use.user) && use.count >= kStripeShare * most) users.push_back(&use);
  }
  return users;
}

}  // namespace rocescope
