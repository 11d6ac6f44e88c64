// SPDX-License-Identifier: BSD-3-Clause
// What a campaign's findings come to: figures, the bars that they have to hold, and counts by kind
// of fault.
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

// A run as one view shows it.
struct RunFindings {
  std::string scenario;
  std::string kind;  // of its first fault; empty: it is healthy
  const v1::FindingScore* score = nullptr;
};

// Of runs that the view was scored in; they point into `scores`.
std::vector<RunFindings> FindingsOf(std::span<const v1::Score> scores, std::string_view view);

// How often each kind of fault occurs in life, relative to others. Empty: nobody said.
using KindWeights = std::map<std::string, double>;

// Of faults of one kind, those that were visible where nothing else is said.
struct KindCounts {
  uint64_t faults = 0;  // visible or not
  uint64_t visible = 0;
  uint64_t detected = 0;
  uint64_t kind_right = 0;
  uint64_t place_right = 0;
  uint64_t place_named = 0;     // likewise, or the place of one of the rivals
  std::vector<double> delays;   // in analysis windows, of those detected; ascending
  uint64_t runs = 0;            // whose first fault it is
  uint64_t false_findings = 0;  // in these
};
std::map<std::string, KindCounts> CountKinds(std::span<const RunFindings> runs);

// By the truth's kind, or "healthy": the kinds that were said instead, or "none". A visible fault
// counts once, by the finding that fits it best or by what was said in its stead; a healthy run by
// its surest finding.
using Confusion = std::map<std::string, std::map<std::string, uint64_t>>;
Confusion CountConfusion(std::span<const RunFindings> runs);

enum class FindingMeasure : uint8_t {
  kPrecision,     // faults detected, of these and findings that are of no fault
  kRecall,        // of visible faults, those detected
  kKind,          // of visible faults, those whose kind is right
  kPlace,         // of visible faults, those whose place is right
  kPfcPrecision,  // of findings about pauses, those whose kind and place are right
  kPfcRecall,     // of visible faults about pauses, those of which both are right
  kCulpritPrecision,
  kCulpritRecall,
  kMedianDelay,  // from visible to verdict, in analysis windows
  kWorstDelay,
  kHealthyFindings,  // in runs without a fault
  kVictimPrecision,  // jobs; no bar, as the next ones
  kVictimRecall,
  kHotspotPrecision,  // of hotspots, those at a queue that filled up meanwhile
  kHotspotRecall,     // of queues that filled up, those under a hotspot
  kAnomalyStability,  // of windows odd by either half of the past, those odd by both
  kCount,
};
inline constexpr size_t kFindingMeasures = static_cast<size_t>(FindingMeasure::kCount);
std::string_view TitleOf(FindingMeasure measure);

// Whether it is no share, and less of it is better.
constexpr bool IsAmount(FindingMeasure measure) {
  return measure == FindingMeasure::kMedianDelay || measure == FindingMeasure::kWorstDelay ||
         measure == FindingMeasure::kHealthyFindings;
}

struct Figure {
  FindingMeasure measure = FindingMeasure::kPrecision;
  std::optional<double> goal;        // at least, of an amount at most
  double value = 0;                  // right / of; or the amount
  uint64_t right = 0;                // of an amount in healthy runs: runs without any
  uint64_t of = 0;                   // of a delay: faults detected
  std::optional<Interval> interval;  // of the share; of healthy runs: of those without a finding
  std::optional<double> weighted;    // the share, were kinds as frequent as in life

  bool Holds() const;  // true without a goal
};

// Those for which anything was counted, in the order above. `view` has the goals (view.h's name).
// Weighted, each kind's runs count by its weight, and healthy runs as large a part as they are; a
// kind without weight, or without a visible run, counts nowhere.
std::vector<Figure> FiguresOf(std::span<const RunFindings> runs, std::string_view view,
                              const KindWeights& weights);

}  // namespace rocescope
