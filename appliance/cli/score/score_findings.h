// SPDX-License-Identifier: BSD-3-Clause
// Holds the faults and hotspots that a report tells of against those that a run had.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace rocescope {

namespace v1 {
class FindingScore;
class ReplayReport;
class Truth;
}  // namespace v1

// Whether a fault of that name is about who pauses whom.
bool IsPfcKind(std::string_view kind);

// A finding that is right or wrong: its confidence against whether kind and place both are right.
struct StatedFinding {
  double confidence = 0;
  bool right = false;
};

// Appends to `score`, of one run. A finding is of a fault if its kind or place is right and its
// time can be: it begins at most two windows before the fault does, its verdict comes when the
// fault was there, and it lasts into the time from the fault's first effect to the run's end (what
// a fault did to others goes on behind it). An alarm that was there before is none of the fault.
// Each fault has one finding: of those of it the one with kind and place right, else with the
// place, else with the kind, the surer first. A further one is false unless its place is right.
// Findings of a fault that never showed are neither right nor false.
std::vector<StatedFinding> ScoreFindings(const v1::Truth& truth, const v1::ReplayReport& report,
                                         int64_t window_ns, v1::FindingScore& score);

}  // namespace rocescope
