// SPDX-License-Identifier: BSD-3-Clause
// Views: subsets of a run's telemetry, and the goals that answers must meet with each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

// The figures, in the order of the table's columns. NameOf returns the names that reports use.
enum class MeasureKind : uint8_t {
  kStripePrecision,  // reported pairs whose two queue pairs belong to the same rank pair
  kStripeRecall,     // connections with traffic that are reported correctly
  kPairPrecision,    // reported pairs whose two queue pairs are both correct
  kPairRecall,
  kRanks,          // ends of the jobs' connections that are assigned to the right process
  kJobs,           // assignment of NICs to jobs: adjusted Rand index, weighted by NICs over runs
  kCollectives,    // collectives of jobs with the right type
  kPeriods,        // jobs with at least twenty iterations whose period is within 0.3 %
  kPeriodsStated,  // such jobs for which a period is reported
  kPeriodsWrong,   // reported periods that are not within 0.3 %
  kPeriodError,    // mean relative error of these periods; a missing one counts as 100 %
  kWaitedFor,      // stragglers reported correctly
  kPath,           // bytes with an asserted path that is right
  kPathWrong,      // bytes with an asserted path that is wrong
  kPathReach,      // bytes whose path samples can be expected to reveal
  kCount,
};
inline constexpr size_t kMeasures = static_cast<size_t>(MeasureKind::kCount);
std::string_view NameOf(MeasureKind kind);

// Returns whether lower is better.
constexpr bool IsAtMost(MeasureKind kind) {
  return kind == MeasureKind::kPathWrong || kind == MeasureKind::kPeriodError ||
         kind == MeasureKind::kPeriodsWrong;
}

// A maximum or a minimum: see IsAtMost.
struct Bar {
  MeasureKind measure;
  double bound;
  bool three_tiers = false;  // overrides the previous row in fabrics with three tiers
};

struct View {
  std::string_view name;
  std::string_view title;
  std::string_view parts;              // as for --only; empty: everything in the run
  std::string_view three_tiers_parts;  // in fabrics with three tiers; empty: the same
  double mirror_loss = 0;
  bool elephants_alone = false;  // only flows with at least ten expected samples are scored
  // In fabrics with three tiers, only samples reveal the path of a flow between the taps.
  bool samples_close_gaps = false;
  bool has_activity = true;  // the time of every flow's packets is observed, which the detection of
                             // collectives needs
  bool about_faults = false;  // only findings and hotspots are scored
  bool when_named = false;    // only used if named explicitly
  std::vector<Bar> bars;      // goals for faults are in finding_bars.h
};

// The last view: whatever telemetry the run has.
inline constexpr std::string_view kCompleteView = "all";

std::span<const View> Views();
// Resolves a view's name, "paths" (all views that are not about faults) or "diagnosis" (those about
// faults, except views that must be named). Returns an empty list if the name is unknown.
std::vector<const View*> ViewsNamed(std::string_view name);
// Returns nullptr if the name is unknown.
const View* FindView(std::string_view name);

}  // namespace rocescope
