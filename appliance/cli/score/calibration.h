// SPDX-License-Identifier: BSD-3-Clause
// Checks whether answers are right as often as their stated confidence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

namespace v1 {
class Score;
}

enum class BinState : uint8_t {
  kFew,     // too few answers to judge
  kHolds,   // the complete interval is within kCalibrated of the stated confidence
  kUnsure,  // within kCalibrated, but the interval is not: more runs are needed
  kMisses,
};

// Answers of one kind with a confidence in the same bin of width 1/20, over all views and runs.
struct CalibrationBin {
  std::string answer;               // "pair"
  std::optional<uint32_t> percent;  // lower bound of the bin; nullopt: all findings
  uint64_t answers = 0;
  double stated = 0;  // the mean confidence, 0 to 1
  double right = 0;   // share
  // Interval of stated - right: the middle 95 % of 1000 bootstrap resamples of the runs (Efron and
  // Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13: the percentile interval). The
  // resampling unit is the run because errors within a run are correlated.
  double low = 0;
  double high = 0;
  BinState state = BinState::kFew;
};

// The least number of answers in a bin that is judged. A fabric has few faults, so that there are
// fewer findings than other answers.
inline constexpr uint64_t kEnoughAnswers = 500;
inline constexpr uint64_t kEnoughFindings = 100;
inline constexpr double kCalibrated = 0.03;
inline constexpr std::string_view kFindingAnswer = "finding";  // Bin.answer of findings

// For `view` only, if it is not empty. Sorted by answer and percent; findings also have a row for
// all of them, before their bins. Deterministic.
std::vector<CalibrationBin> Calibrate(std::span<const v1::Score> scores,
                                      std::string_view view = {});

// A table with a reliability diagram: each row shows the interval of the observed share as a bar
// on a scale from 0 to 100 %, with `|` at the stated confidence and `*` at the observed share.
std::string RenderCalibration(std::span<const CalibrationBin> bins);

}  // namespace rocescope
