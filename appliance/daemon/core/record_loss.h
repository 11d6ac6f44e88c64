// SPDX-License-Identifier: BSD-3-Clause
// Counts the records that the analysis dropped in the last minute, for inclusion in each answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "base/time.h"

namespace rocescope {

// Totals since the start of the sources.
struct RecordCounts {
  uint64_t taken = 0;
  uint64_t given_up = 0;
};

// The loss in the last period.
struct RecordLoss {
  RecordCounts records;
  Duration over{};
};

// A sentence. Empty if less than 0.1 % of the records was dropped.
std::string LossText(const RecordLoss& loss);

class RecentLoss {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLately = std::chrono::seconds(60);

  // Call it in chronological order.
  RecordLoss Note(const RecordCounts& counts, Clock::time_point now);

 private:
  struct Noted {
    RecordCounts counts;
    Clock::time_point at;
  };
  std::deque<Noted> noted_;  // the first entry is at least a minute old, if there is one
};

}  // namespace rocescope
