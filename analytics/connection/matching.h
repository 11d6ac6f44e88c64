// SPDX-License-Identifier: BSD-3-Clause
// Finds the one-to-one pairing of the flows A->B with the flows B->A of a host pair, from what each
// flow's responses and grants show. Pure arithmetic on counts.
//
// A row is a flow whose responses (ACKs) were compared with the requests outstanding in the
// opposite direction. The true partner nearly always had the PSN outstanding; any other flow only
// by chance or because of lock step. Two candidates are therefore compared by their hit rates, in a
// Bayesian test of two proportions: does one of them have the higher rate, so that it is the
// partner, or are the rates equal, so that they carry no information (NCCL starts all queue pairs
// at PSN 0, and stripes advance together)? A complexity penalty prevents repeated observations of
// equal rates from drifting into certainty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocescope {

// Evidence of one flow about one possible partner.
struct PartnerClaim {
  uint32_t partner = 0;  // index of the row on the other side
  uint32_t hits = 0;     // responses whose PSN the partner had outstanding
  uint32_t trials = 0;   // responses since the partner became visible
  // Log odds of other evidence (RETH echo, known pair), compared with any other partner.
  double log_evidence = 0;
  double observations = 0;  // number of independent observations behind `log_evidence`
};

struct MatchRow {
  uint32_t tap = 0;      // source of the claims; only rows of the same tap are comparable
  uint32_t trials = 0;   // responses observed there
  uint32_t visible = 0;  // number of flows of the other side whose requests the tap observed
  // Flows of the other side that the tap did not observe, but whose PSNs elsewhere are close to
  // this row's. One of them may be the true partner: an observed flow that advances in lock step
  // with it shows the same PSNs and only seems to match.
  uint32_t suspects = 0;
  // The PSNs start at 0, as with NCCL: any two flows may be in lock step.
  bool zero_based = false;
  // At this tap, packet order distinguishes flows in lock step (psn_echo.h).
  bool ordered = false;
  std::vector<PartnerClaim> claims{};  // one claim per partner at most
};

struct MatchCandidate {
  uint32_t partner = 0;
  double posterior = 0;
};

struct RowMatch {
  uint32_t partner = UINT32_MAX;  // if paired
  double confidence = 0;
  std::vector<MatchCandidate> candidates;  // most likely first, at most kMaximumCandidates
};

inline constexpr size_t kMaximumCandidates = 8;
inline constexpr double kPairedConfidence = 0.6;  // minimum confidence of a reported pair

struct Matching {
  std::vector<RowMatch> sides[2];
};

Matching MatchFlows(const std::vector<MatchRow>& side0, const std::vector<MatchRow>& side1);

// Returns the odds that a flow with hits_b of trials_b is the partner rather than one with hits_a
// of trials_a; 1 if they cannot be distinguished.
double OddsAgainst(double hits_a, double trials_a, double hits_b, double trials_b);

}  // namespace rocescope
