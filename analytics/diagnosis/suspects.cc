// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/suspects.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace rocescope {

std::vector<Suspect> RankSuspects(std::span<const Exposed> places, const AffectedPackets& hurts) {
  constexpr double kElsewhere = 1e-2;
  constexpr double kAnyone = 1e-3;
  std::vector<Suspect> ranked;
  for (const Exposed& exposed : places) {
    double all = 0;
    for (const auto& [number, bytes] : exposed.passed) all += bytes;
    if (all <= 0) continue;
    double likelihood = std::log(exposed.prior);
    for (const auto& [number, count] : hurts) {
      const auto at = exposed.passed.find(number);
      const double share = at == exposed.passed.end() ? 0 : at->second / all;
      likelihood += count * std::log((1 - kElsewhere) * share + kElsewhere * kAnyone);
    }
    ranked.push_back({.kind = exposed.kind, .place = exposed.place, .probability = likelihood});
  }
  if (ranked.empty()) return ranked;
  std::ranges::sort(ranked, {}, [](const Suspect& suspect) {
    return std::tuple(-suspect.probability, suspect.place, suspect.kind);
  });
  // Converts log likelihoods to probabilities.
  const double best = ranked[0].probability;
  double sum = 0;
  for (Suspect& suspect : ranked) {
    suspect.probability = std::exp(suspect.probability - best);
    sum += suspect.probability;
  }
  for (Suspect& suspect : ranked) suspect.probability /= sum;
  return ranked;
}

void SetSuspects(std::span<const Suspect> ranked, Finding& finding) {
  constexpr size_t kMaxRivals = 4;
  constexpr double kLeast = 0.01;
  finding.kind = ranked[0].kind;
  finding.place = ranked[0].place;
  finding.confidence = ranked[0].probability;
  for (const Suspect& rival : ranked.subspan(1, std::min(kMaxRivals, ranked.size() - 1))) {
    if (rival.probability >= kLeast) finding.alternatives.push_back(rival);
  }
}

}  // namespace rocescope
