// SPDX-License-Identifier: BSD-3-Clause
// The times at which one device is polled, and the ages of the values that it returns.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "sim/engine/random.h"
#include "sim/profile/profile.h"

namespace rocescope::sim {

// Returns the time multiplied by `scale`; at least 1 ns if `time` is above 0.
Duration ScaledTime(Duration time, double scale);
// Returns a random time in the range, which includes both ends.
Duration DrawTime(const DurationRange& range, Random& random);

struct Poll {
  Timestamp time;     // time at which the device answers
  Timestamp arrival;  // time at which the answer arrives at the poller
  Timestamp exact;    // time of the values in the answer: the last refresh, at most `time`
  bool lost = false;
};

// The polls of one device in order of time. Poll k is due at begin + phase + k * period. Jitter
// delays it without changing when the following polls are due.
class PollSchedule {
 public:
  struct Options {
    Timestamp begin;
    // Already scaled.
    Duration period{};
    Duration jitter{};
    Duration response{};
    Duration refresh{};  // 0: the device returns current values
    bool random_phase = false;
    double lost_polls = 0;
    double lost_poll_burst = 1;
    uint64_t seed = 0;
    uint64_t number = 0;  // number of the device, for its random streams
  };
  explicit PollSchedule(const Options& options);

  // The next poll. Times never decrease.
  const Poll& next() const { return next_; }
  void Advance();

 private:
  void Draw();
  Timestamp RefreshBefore(Timestamp time) const;

  const Options options_;
  Random timing_;
  Random loss_;
  Timestamp due_;
  Timestamp refresh_start_;
  bool in_burst_ = false;
  Poll next_;
};

}  // namespace rocescope::sim
