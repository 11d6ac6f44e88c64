// SPDX-License-Identifier: BSD-3-Clause
// Whether answers are right as often as their stated confidence says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rocescope {

namespace v1 {
class Score;
}

enum class BinState : uint8_t {
  kFew,     // too few answers to say
  kHolds,   // with its whole interval within kCalibrated of what was stated
  kUnsure,  // it lies within, its interval reaches beyond: more runs would tell
  kMisses,
};

// Answers of one kind whose confidence lies in the same twentieth, over all views and runs.
struct CalibrationBin {
  std::string answer;    // "pair"
  uint32_t percent = 0;  // where the bin begins
  uint64_t answers = 0;
  double stated = 0;  // the mean confidence, 0 to 1
  double right = 0;   // share
  // Of right - stated: the middle 95 % of 1000 resamples, with replacement, of the runs (Efron and
  // Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13: the percentile interval). Runs and
  // not answers are drawn, for what is wrong in a run is wrong there many times.
  double low = 0;
  double high = 0;
  BinState state = BinState::kFew;
};

inline constexpr uint64_t kEnoughAnswers = 500;
inline constexpr double kCalibrated = 0.03;

// By answer and percent. The same for the same scores.
std::vector<CalibrationBin> Calibrate(std::span<const v1::Score> scores);

// A table with a reliability diagram: a row's bar is its confidence interval from 0 to 100 %, with
// `|` at what was stated and `*` at what was right.
std::string RenderCalibration(std::span<const CalibrationBin> bins);

}  // namespace rocescope
