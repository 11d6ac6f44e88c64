// SPDX-License-Identifier: BSD-3-Clause
// A sequential test of whether more frames are damaged than tolerated. It needs constant memory,
// works at any reading period, and states its rate of false alarms.
//
// Null hypothesis: damage events occur at most `tolerated` times per frame. An event damages one
// frame, or a burst of n frames with probability 6 / (pi^2 n^2), so that a single burst is rarely
// an alarm. Alternatives: damage of single frames whose rate is learnt, and more frequent bursts;
// each with rates over the whole range, and from any time on. The weight of a start within an
// interval is the interval's length in days. The first interval has the weight of an additional
// hour, because damage may be older than the data. The mean number of false alarms until day d is
// then at most alarms_a_day * (d + 1/24) (Shiryaev-Roberts procedure; Shin, Ramdas and Rinaldo,
// "E-detectors", 2022). Fewer than kLeastErrors damaged frames are never an alarm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace rocescope {

struct ErrorRateOptions {
  double tolerated = 1e-8;     // damaged frames per frame
  double alarms_a_day = 1e-5;  // false alarms
};

class ErrorRateTest {
 public:
  // Damaged frames before an alarm. On an idle link, a single frame that is damaged by accident is
  // a large share of all frames.
  static constexpr uint64_t kLeastErrors = 3;

  // What is known since damage began to exceed the tolerated rate.
  struct Excess {
    Timestamp from;  // begin of the first interval with damage
    uint64_t errors = 0;
    double frames = 0;
  };

  // Adds an interval with its frames (more than 0) and the damaged ones among them. Intervals are
  // in order of time. Returns the excess if the interval raises an alarm; the test then starts
  // again.
  std::optional<Excess> Add(Timestamp from, Timestamp until, uint64_t errors, double frames,
                            const ErrorRateOptions& options);

 private:
  static constexpr size_t kRates = 8;  // the tolerated one times 8, 64, ...

  struct Interval {
    Timestamp from;
    Duration length{};
    uint64_t errors = 0;
    double frames = 0;
  };
  struct Alternative {
    double score = 0;  // natural logarithm of the weighted likelihood ratio
    Excess since;      // the start that this score assumes
    bool is_possible = false;
  };

  void Weigh(const Interval& interval, const ErrorRateOptions& options);

  bool has_begun_ = false;
  Interval undamaged_;  // intervals without damage that the alternatives do not contain yet
  std::array<Alternative, 2 * kRates> alternatives_;  // single frames, then bursts
};

}  // namespace rocescope
