// SPDX-License-Identifier: BSD-3-Clause
// What a run is looked at through, and how well its answers must then be: the rows of the table
// that a campaign prints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

// What is measured, in the order of the table's columns. NameOf gives the names that reports have.
enum class MeasureKind : uint8_t {
  kStripePrecision,  // of pairs stated, those within the right stripe
  kStripeRecall,     // of connections with traffic, those stated so
  kPairPrecision,    // of pairs stated, those of the right two queue pairs
  kPairRecall,
  kRanks,        // of the ends of jobs' connections, those given to the right process
  kJobs,         // which NICs are of one job: adjusted Rand index, weighted by NICs over runs
  kCollectives,  // of jobs' collectives, those told by their kind
  kPeriods,      // of jobs seen for twenty iterations, those whose period is within 0.3 %
  kPeriodError,  // how far off these periods are, on average
  kWaitedFor,    // of stragglers, those that their job is said to wait for
  kPath,         // of octets, those whose path is asserted and right
  kPathWrong,    // of octets, those whose path is asserted and wrong
  kPathReach,    // of octets, those that samples can be expected to tell the path of
  kCount,
};
inline constexpr size_t kMeasures = static_cast<size_t>(MeasureKind::kCount);
std::string_view NameOf(MeasureKind kind);

// Whether less is better.
constexpr bool IsAtMost(MeasureKind kind) {
  return kind == MeasureKind::kPathWrong || kind == MeasureKind::kPeriodError;
}

// At most, or at least: see IsAtMost.
struct Bar {
  MeasureKind measure;
  double bound;
  bool three_tiers = false;  // in fabrics of three tiers this holds in place of the one before
};

struct View {
  std::string_view name;
  std::string_view title;
  std::string_view parts;              // as --only takes them; empty: all that a run has
  std::string_view three_tiers_parts;  // in fabrics of three tiers; empty: the same
  double mirror_loss = 0;
  bool elephants_alone = false;  // only flows of which ten samples are to be expected count
  // In fabrics of three tiers, samples alone tell by which way a flow goes between the taps.
  bool samples_close_gaps = false;
  bool has_activity = true;   // when each flow sends is seen: what collectives are found from
  bool about_faults = false;  // what is wrong and where it is congested counts, and nothing else
  bool when_named = false;    // not one of those that a run is scored by if none is asked for
  std::vector<Bar> bars;      // finding_bars.h has those about faults
};

std::span<const View> Views();
// What a view's name, or "paths" or "diagnosis", stands for: itself, the views that are not about
// faults, and those that are, but for those that must be named. Empty if there is none of the name.
std::vector<const View*> ViewsNamed(std::string_view name);
// nullptr if there is none of the name.
const View* FindView(std::string_view name);

}  // namespace rocescope
