// SPDX-License-Identifier: BSD-3-Clause
// When what usually happens no longer does: how often in a row is beyond chance. And how much
// single events say.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rocescope {

// How likely it does not happen, by how often it did and did not (Krichevsky and Trofimov's
// estimate). However often it did, one in a hundred is an accident.
inline double ChanceOfNone(size_t happened, size_t did_not) {
  constexpr double kAccident = 0.01;
  return std::max(
      (static_cast<double>(did_not) + 0.5) / static_cast<double>(happened + did_not + 1),
      kAccident);
}

// How sure so many events make: one alone is as likely an accident that says nothing of what comes,
// and each further one halves what is left.
inline double ConfidenceFromCount(uint64_t events, double most) {
  return most * (1 - std::exp2(-static_cast<double>(events)));
}

// Windows in a row in which it did not. Beyond doubt if that comes by chance less than once in ten
// thousand, and not in one window alone.
class DoubtRun {
 public:
  // Windows ascend; one may be added several times.
  void Add(size_t window, double chance) {
    constexpr double kImpossible = -9.2;  // the natural logarithm of 1 / 10,000
    if (windows_ == 0) first_ = window;
    if (windows_ == 0 || window != last_) ++windows_;
    last_ = window;
    doubt_ += std::log(chance);
    if (!verdict_ && doubt_ <= kImpossible && windows_ > 1) verdict_ = window;
  }

  size_t windows() const { return windows_; }
  size_t first() const { return first_; }
  size_t last() const { return last_; }
  double doubt() const { return doubt_; }                     // 0 and less
  std::optional<size_t> verdict() const { return verdict_; }  // unset: it may be chance

 private:
  size_t windows_ = 0;
  size_t first_ = 0;
  size_t last_ = 0;
  double doubt_ = 0;
  std::optional<size_t> verdict_;
};

}  // namespace rocescope
