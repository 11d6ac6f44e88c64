// SPDX-License-Identifier: BSD-3-Clause
// Statistics of events that stop happening, and of the confidence that single events give.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rocescope {

// Probability that an event does not happen, from how often it did and did not happen before
// (estimate of Krichevsky and Trofimov). It is never below 1 in 100, for accidents.
inline double ChanceOfNone(size_t happened, size_t did_not) {
  constexpr double kAccident = 0.01;
  return std::max(
      (static_cast<double>(did_not) + 0.5) / static_cast<double>(happened + did_not + 1),
      kAccident);
}

// Confidence from a number of events, at most `most`. One event is as likely an accident as a
// fault; each further event halves the remaining doubt.
inline double ConfidenceFromCount(uint64_t events, double most) {
  return most * (1 - std::exp2(-static_cast<double>(events)));
}

// The least number of events that give this confidence, which is below `most`.
inline uint64_t LeastCountFor(double confidence, double most) {
  uint64_t events = 1;
  while (ConfidenceFromCount(events, most) < confidence) ++events;
  return events;
}

// Consecutive windows in which an expected event did not happen. The sequence is detected if
// its probability by chance is below 1 in 10,000 and it has enough windows, more than one.
class DoubtRun {
 public:
  static constexpr size_t kLeastWindows = 2;

  // Windows must be ascending; a window may be added several times.
  void Add(size_t window, double chance, size_t enough = kLeastWindows) {
    constexpr double kImpossible = -9.2;  // the natural logarithm of 1 / 10,000
    if (windows_ == 0) first_ = window;
    if (windows_ == 0 || window != last_) ++windows_;
    last_ = window;
    doubt_ += std::log(chance);
    if (!detected_at_ && doubt_ <= kImpossible && windows_ >= enough) detected_at_ = window;
  }

  size_t windows() const { return windows_; }
  size_t first() const { return first_; }
  size_t last() const { return last_; }
  double doubt() const { return doubt_; }  // logarithm of the probability by chance, <= 0
  // The window of the detection; unset while it may be chance.
  std::optional<size_t> detected_at() const { return detected_at_; }

 private:
  size_t windows_ = 0;
  size_t first_ = 0;
  size_t last_ = 0;
  double doubt_ = 0;
  std::optional<size_t> detected_at_;
};

}  // namespace rocescope
