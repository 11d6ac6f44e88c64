// SPDX-License-Identifier: BSD-3-Clause
// Scores the faults and hotspots of a report against those of the run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rocescope {

namespace v1 {
class Finding;
class FindingScore;
class ReplayReport;
class Truth;
}  // namespace v1

// Returns whether this fault type is about PFC.
bool IsPfcKind(std::string_view kind);

// A finding's confidence, and whether both its type and its place are right.
struct StatedFinding {
  double confidence = 0;
  bool right = false;
};

// Appends to the `score` of one run. A finding matches a fault if its type or its place is right
// and its time is possible: it starts at most two windows before the fault, it is detected while
// the fault is present, and it lasts into the time between the fault's first effect and the run's
// end (effects on other elements last longer than the fault). An alarm from before the fault never
// matches. With a telemetry profile, all of this may be one window and the clocks' error earlier. A
// finding that matches by its type only does not match if another visible fault explains
// it (cause.h).
//
// Findings and faults are assigned one to one: the assignment has as many matches by type and place
// as possible, then as many with an alternative that has both, then by place, then by type, and
// then the greatest sum of confidences. A further match is false unless its place is right.
// Findings at the place of a fault without any visible effect are neither right nor false.
// Suspicions (suspicion.h) are only counted.
//
// `reported` contains the findings of successive analyses during the run, each with the time of its
// analysis as detection time. A fault's time to detection ends with the first of them that is at
// least as right as the assigned finding. If it is empty, the detection times of the report count.
std::vector<StatedFinding> ScoreFindings(const v1::Truth& truth, const v1::ReplayReport& report,
                                         std::span<const v1::Finding> reported, int64_t window_ns,
                                         v1::FindingScore& score);

}  // namespace rocescope
