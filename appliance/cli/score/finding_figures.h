// SPDX-License-Identifier: BSD-3-Clause
// Figures about the findings of a campaign: shares, goals, and counts by fault type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/score/wilson.h"

namespace rocescope {

namespace v1 {
class FindingScore;
class Score;
}  // namespace v1

// The score of one run for one view.
struct RunFindings {
  std::string scenario;
  std::string kind;  // kind of its first fault; empty: a healthy run
  const v1::FindingScore* score = nullptr;
};

// The scores of runs for this view; the pointers refer to `scores`.
std::vector<RunFindings> FindingsOf(std::span<const v1::Score> scores, std::string_view view);

// Relative frequency of each fault type in production. Empty: unknown.
using KindWeights = std::map<std::string, double>;

// Counts for one fault type; visible faults only, unless noted.
struct KindCounts {
  uint64_t faults = 0;  // visible or not
  uint64_t visible = 0;
  uint64_t detected = 0;
  uint64_t kind_right = 0;
  uint64_t place_right = 0;
  uint64_t place_named = 0;    // right place, or the place of an alternative
  std::vector<double> delays;  // detection delay of detected faults, in analysis windows; ascending
  uint64_t runs = 0;           // runs whose first fault has this type
  uint64_t false_findings = 0;  // findings in these runs
};
std::map<std::string, KindCounts> CountKinds(std::span<const RunFindings> runs);

// The confusion matrix: by true fault type or "healthy", the types that were reported instead, or
// "none". A visible fault counts once, by its best finding or by what was reported instead; a
// healthy run counts by its most confident finding.
using Confusion = std::map<std::string, std::map<std::string, uint64_t>>;
Confusion CountConfusion(std::span<const RunFindings> runs);

enum class FindingMeasure : uint8_t {
  kPrecision,     // detected faults, of detected faults and false findings
  kRecall,        // detected, of visible faults
  kKind,          // right type, of visible faults
  kPlace,         // right place, of visible faults
  kPfcPrecision,  // right type and place, of findings about PFC
  kPfcRecall,     // right type and place, of visible PFC faults
  kCulpritPrecision,
  kCulpritRecall,
  kMedianDelay,  // from visible to detected, in analysis windows
  kWorstDelay,
  kHealthyFindings,  // in runs without a fault
  kVictimPrecision,  // jobs; no goal, like the following ones
  kVictimRecall,
  kHotspotPrecision,  // hotspots at a queue that was congested at that time
  kHotspotRecall,     // congested queues that are covered by a hotspot
  kAnomalyStability,  // windows that are anomalous given either half of the history, of those
                      // anomalous given both
  kCount,
};
inline constexpr size_t kFindingMeasures = static_cast<size_t>(FindingMeasure::kCount);
std::string_view TitleOf(FindingMeasure measure);

// Returns whether the figure is an amount (lower is better) instead of a share.
constexpr bool IsAmount(FindingMeasure measure) {
  return measure == FindingMeasure::kMedianDelay || measure == FindingMeasure::kWorstDelay ||
         measure == FindingMeasure::kHealthyFindings;
}

struct Figure {
  FindingMeasure measure = FindingMeasure::kPrecision;
  std::optional<double> goal;  // minimum of a share, or maximum of an amount
  double value = 0;            // `right` divided by `of`; for an amount: the amount
  uint64_t right = 0;          // numerator; for kHealthyFindings: runs without a finding
  uint64_t of = 0;             // denominator; for a delay: detected faults
  std::optional<Interval>
      interval;  // interval of the share, or of the healthy runs without a finding
  std::optional<double> weighted;  // share weighted by the fault types' frequency in production

  bool Holds() const;  // true if there is no goal
};

// Returns the figures with at least one count, in the order above. `view` (a name from view.h)
// selects the goals. With weights, each fault type's runs have the type's weight, and healthy
// runs keep their share of the campaign; a type without weight or without a visible run is ignored.
std::vector<Figure> FiguresOf(std::span<const RunFindings> runs, std::string_view view,
                              const KindWeights& weights);

}  // namespace rocescope
