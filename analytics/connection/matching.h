// SPDX-License-Identifier: BSD-3-Clause
// Finds the one-to-one pairing of the flows A->B with the flows B->A of a host pair, from what each
// flow's responses and grants claim. Pure arithmetic on counts.
//
// A row is a flow whose responses (ACKs) were compared with the requests outstanding in the other
// direction. The true partner had the PSN outstanding nearly always; any other flow as often as
// chance or lock step makes it. So two candidates are compared by their hit rates: the hypotheses
// "one is the partner" and "the rates are equal and tell nothing" (NCCL starts all queue pairs at
// PSN 0 and stripes advance together) stand against each other as in a Bayesian test of two
// proportions, with a complexity penalty strong enough that repeated looks at equal rates do not
// drift into certainty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocescope {

// What one flow says about one possible partner.
struct PartnerClaim {
  uint32_t partner = 0;     // index of the row on the other side
  uint32_t hits = 0;        // responses whose PSN the partner had outstanding
  uint32_t trials = 0;      // responses since the partner was visible
  double log_evidence = 0;  // of other kinds (RETH echo, known pair), over any other partner
  double observations = 0;  // how many independent ones of those
};

struct MatchRow {
  uint32_t tap = 0;      // that the claims come from; rows of one tap can be compared
  uint32_t trials = 0;   // responses there
  uint32_t visible = 0;  // flows of the other side whose requests that tap saw
  // Flows of the other side that the tap did not see and whose PSNs, seen elsewhere, come near this
  // row's: they may be the partner, in step with one that was seen.
  uint32_t suspects = 0;
  // The PSNs count from 0, as with NCCL: any two flows may be in step.
  bool zero_based = false;
  // The tap is where the order of packets tells flows in step apart (psn_echo.h).
  bool ordered = false;
  std::vector<PartnerClaim> claims{};  // at most one per partner
};

struct MatchCandidate {
  uint32_t partner = 0;
  double posterior = 0;
};

struct RowMatch {
  uint32_t partner = UINT32_MAX;  // if paired
  double confidence = 0;
  std::vector<MatchCandidate> candidates;  // the best first, at most kMaximumCandidates
};

inline constexpr size_t kMaximumCandidates = 8;
inline constexpr double kPairedConfidence = 0.6;  // from here on a pair is stated

struct Matching {
  std::vector<RowMatch> sides[2];
};

Matching MatchFlows(const std::vector<MatchRow>& side0, const std::vector<MatchRow>& side1);

// Odds that a flow with hits_b of trials_b is the partner rather than one with hits_a of trials_a;
// 1 if the two cannot be told apart.
double OddsAgainst(double hits_a, double trials_a, double hits_b, double trials_b);

}  // namespace rocescope
