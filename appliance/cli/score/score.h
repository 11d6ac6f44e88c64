// SPDX-License-Identifier: BSD-3-Clause
// Scores a report against the ground truth of a simulated run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/score/view.h"
#include "base/result.h"

namespace rocescope {

namespace v1 {
class Finding;
class ReplayReport;
class Score;
class Truth;
class ViewScore;
}  // namespace v1

// `file` is the name in the error.
Status ParseTruth(std::string_view text, std::string_view file, v1::Truth& truth);
Status ParseScore(std::string_view text, std::string_view file, v1::Score& score);

struct ScoreOptions {
  // Minimum size in bytes of flows whose path and ranks are scored, for views about elephant flows:
  // the equivalent of ten samples.
  double elephant_bytes = 0;
  // Rate of samples that reveal a flow's path, per byte; 0: the path does not depend on samples.
  double samples_per_byte = 0;
  bool has_activity = true;   // see View
  bool about_faults = false;  // see View: only findings and hotspots are scored
  int64_t window_ns = 1;      // the run's analysis window, the unit of delays
  // See ScoreFindings.
  std::span<const v1::Finding> reported;
};

// Scores `report`, a replay of the run with the view's telemetry.
void ScoreView(const v1::Truth& truth, const v1::ReplayReport& report, const ScoreOptions& options,
               v1::ViewScore& score);

// Adds the counts of `from` to `into`, which must be of the same view; adds its misses up to the
// limit.
void AddScore(const v1::ViewScore& from, v1::ViewScore& into);

}  // namespace rocescope
