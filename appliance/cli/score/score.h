// SPDX-License-Identifier: BSD-3-Clause
// Holds a report against the truth of a simulated run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/score/view.h"
#include "base/result.h"

namespace rocescope {

namespace v1 {
class ReplayReport;
class Score;
class Truth;
class ViewScore;
}  // namespace v1

// `file` names the text in the error.
Status ParseTruth(std::string_view text, std::string_view file, v1::Truth& truth);
Status ParseScore(std::string_view text, std::string_view file, v1::Score& score);

struct ScoreOptions {
  // Bytes from which a flow counts for its path and its ranks: what ten samples stand for, where
  // a view is about elephants.
  double elephant_bytes = 0;
  // Samples that tell a flow's path, of each of its octets; 0: it does not take samples to tell.
  double samples_per_byte = 0;
  bool has_activity = true;   // see View
  bool about_faults = false;  // likewise: findings and hotspots count, and nothing else
  int64_t window_ns = 1;      // the run's analysis window, which delays are told in
};

// What `report`, a replay of the run with the view's telemetry, got right.
void ScoreView(const v1::Truth& truth, const v1::ReplayReport& report, const ScoreOptions& options,
               v1::ViewScore& score);

// Adds the counts of `from`, of the same view, to `into`; its misses if there is room.
void AddScore(const v1::ViewScore& from, v1::ViewScore& into);

}  // namespace rocescope
