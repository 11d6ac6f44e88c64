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
class FaultScore;
class FindingScore;
class Score;
}  // namespace v1

// The score of one run for one view.
struct RunFindings {
  std::string scenario;
  std::vector<std::string> kinds;  // kinds of its faults; empty: a healthy run
  const v1::FindingScore* score = nullptr;
};

// The scores of runs for this view; the pointers refer to `scores`.
std::vector<RunFindings> FindingsOf(std::span<const v1::Score> scores, std::string_view view);

// Relative frequency of each fault type in production. Empty: unknown.
using KindWeights = std::map<std::string, double>;

// Returns whether the fault is visible, but below the detection limit: it has fewer affected frames
// than the telemetry can show, is too short, or is undetectable, as the diagnosis itself states.
bool IsBelowLimit(const v1::FaultScore& fault);

// Counts for one fault type. Unless noted, they are of visible faults that are not below the
// detection limit.
struct KindCounts {
  uint64_t faults = 0;  // visible or not
  uint64_t visible = 0;
  uint64_t detected = 0;
  uint64_t kind_right = 0;
  uint64_t place_right = 0;
  uint64_t place_named = 0;  // right place, or the place of an alternative
  uint64_t below_limit = 0;  // visible faults below the limit
  uint64_t below_limit_detected = 0;
  uint64_t below_limit_named = 0;  // right place, or the place of an alternative
  std::vector<double> delays;  // detection delay of detected faults, in analysis windows; ascending
  std::vector<double> seconds;  // the same in fabric time; empty without a profile
  // A run with several faults is divided equally between their types.
  double runs = 0;
  double false_findings = 0;  // false findings in these runs
};
std::map<std::string, KindCounts> CountKinds(std::span<const RunFindings> runs);

// Counts for the runs with the same number of visible faults. Runs with invisible faults only are
// in none.
struct ConcurrencyCounts {
  uint64_t runs = 0;
  uint64_t visible = 0;  // faults, including those below the detection limit
  uint64_t detected = 0;
  uint64_t kind_right = 0;
  uint64_t place_right = 0;
  uint64_t false_findings = 0;
  uint64_t false_runs = 0;  // runs with a false finding
};
std::map<uint32_t, ConcurrencyCounts> CountByConcurrency(std::span<const RunFindings> runs);

// False findings of one kind that coincide with the same kind of event: "benign NAME", "effect of
// KIND", or "nothing".
struct CauseCounts {
  std::string cause;
  std::string kind;
  uint64_t findings = 0;
  uint64_t runs = 0;
};
// The most frequent ones first.
std::vector<CauseCounts> CountCauses(std::span<const RunFindings> runs);

// The confusion matrix: by true fault type or "healthy", the types that were reported instead, or
// "none". A visible fault counts once, by its best finding or by what was reported instead; a
// healthy run counts by its most confident finding.
using Confusion = std::map<std::string, std::map<std::string, uint64_t>>;
Confusion CountConfusion(std::span<const RunFindings> runs);

enum class FindingMeasure : uint8_t {
  // Shares of the visible faults are of those that are not below the detection limit, unless noted.
  // Detected faults, above and below the limit, as a fraction of these and all false findings. The
  // weighted figure counts the same.
  kPrecision,
  kRecall,       // detected faults
  kRecallOfAll,  // the same, with faults below the limit; only if there are any
  // The gray_loss faults above the limit whose place is right or among the alternatives; only with
  // detection limits. Where many findings are false, one of them has the right type by chance.
  kSilentAbove,
  kSilentBelow,   // the same, below the limit
  kKind,          // right type
  kPlace,         // right place
  kPlaceListed,   // right place, or the place of an alternative
  kPfcPrecision,  // right type and place, of findings about PFC
  kPfcRecall,     // right type and place, of visible PFC faults
  kCulpritPrecision,
  kCulpritRecall,
  kMedianDelay,  // from visible to detected, in analysis windows
  k90thDelay,    // 90th percentile
  kWorstDelay,
  kMedianSeconds,  // the same in fabric time; only with a profile
  k90thSeconds,
  kHealthyFindings,  // in runs without a fault
  kHealthyAlarms,    // runs without a fault that have a false finding
  kFalsePerWindows,  // false findings per 1,000 analysis windows; only without a profile
  kFalsePerDay,      // false findings per day of fabric time; only with a profile
  kSuspicionsPerWindows,
  kSuspicionsPerDay,
  kVictimPrecision,  // jobs; no goal, like the following ones
  kVictimRecall,
  kHotspotPrecision,  // hotspots at a queue that was congested at that time
  kHotspotRecall,     // congested queues that are covered by a hotspot
  kAnomalyStability,  // windows that are anomalous given either half of the history, of those
                      // anomalous given both
  kCount,
};
inline constexpr size_t kFindingMeasures = static_cast<size_t>(FindingMeasure::kCount);

enum class FigureUnit : uint8_t { kRatio, kWindows, kSeconds, kFindings, kPerWindows, kPerDay };

std::string_view TitleOf(FindingMeasure measure);
std::string_view NameOf(FindingMeasure measure);  // in JSON: "detection_recall"
FigureUnit UnitOf(FindingMeasure measure);
// Returns whether lower is better.
bool IsAtMost(FindingMeasure measure);

struct Figure {
  FindingMeasure measure = FindingMeasure::kPrecision;
  std::optional<double> goal = {};  // maximum if IsAtMost, otherwise minimum
  double value = 0;                 // `right` divided by `of` or `exposure`, or an amount
  uint64_t right = 0;               // numerator; for kHealthyFindings: runs without a finding
  uint64_t of = 0;                  // denominator; for a delay: detected faults
  double exposure = 0;              // for a rate: thousands of windows, or days
  // 95 % interval of the share (Wilson) or rate (Poisson); for kHealthyFindings: of the share of
  // runs without a finding.
  std::optional<Interval> interval = {};
  std::optional<double> upper = {};  // one-sided upper 95 % bound of a rate
  std::optional<double> weighted =
      {};  // share weighted by the fault types' frequency in production

  bool Holds() const;  // true if there is no goal
};

// The total duration of runs.
struct Exposure {
  double windows = 0;
  double days = 0;  // fabric time; 0: unknown, because a run has no profile
};
Exposure ExposureOf(std::span<const RunFindings> runs);

// Returns the figures with at least one count, in the order above. `view` (a name from view.h)
// selects the goals. With weights, each fault type has its weight, whatever the number of its
// faults is, and healthy runs keep their share of the campaign. A type without weight is ignored,
// and in shares of visible faults also a type without a visible fault above the limit.
std::vector<Figure> FiguresOf(std::span<const RunFindings> runs, std::string_view view,
                              const KindWeights& weights);

}  // namespace rocescope
