// SPDX-License-Identifier: BSD-3-Clause
// Detects lasting changes of the traffic of one entity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rocescope {

// Returns log(1 + rate / 1 MB/s), so that the background traffic of an idle port is about 0.
float LevelOfRate(double bytes_per_second);
double RateOfLevel(float level);

struct LevelStep {
  int64_t onset = 0;  // first window with a changed value
  bool up = false;
  float before = 0;     // median level before the change
  float after = 0;      // level in the second window of the change
  uint8_t settled = 0;  // known windows at the level before, at most 32
  // Level before the last step, if there was one, and how far it usually varied.
  std::optional<float> previous;
  float previous_margin = 0;

  // Whether the traffic has the level again that it had before the last step.
  bool Returned() const;
};

class TrafficLevel {
 public:
  // A change is confirmed by this many successive windows; a shorter one is ignored.
  static constexpr uint8_t kConfirm = 2;

  // Adds the level of the next window in which it is known. Returns a step when it is confirmed.
  std::optional<LevelStep> Add(int64_t window, float level);

  // Highest level since the last step, if it was upwards, otherwise the lowest one.
  float reached() const { return reached_; }

 private:
  static constexpr size_t kKept = 32;    // windows at the current level
  static constexpr size_t kSettled = 4;  // windows from which the spread of a level is estimated
  // A change of less than 50 % is no step.
  static constexpr float kLeastStep = 0.405F;
  static constexpr float kDeviations = 5;  // a step exceeds this many standard deviations

  void Keep(float level);
  float Median() const;
  float Margin(float median) const;

  std::array<float, kKept> levels_{};
  uint8_t count_ = 0;  // valid elements of levels_
  uint8_t next_ = 0;   // position of the next element
  bool stepped_ = false;
  bool last_up_ = false;
  float previous_ = 0;  // median before the last step
  float previous_margin_ = kLeastStep;
  float reached_ = 0;
  float step_level_ = 0;  // in the window that confirmed the last step
  // Windows outside the margin that do not amount to a step yet.
  uint8_t outside_ = 0;
  bool outside_up_ = false;
  int64_t outside_since_ = 0;
};

}  // namespace rocescope
