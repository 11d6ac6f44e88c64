// SPDX-License-Identifier: BSD-3-Clause
// How many records analysis has given up lately: an answer by half of them must say so.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "base/time.h"

namespace rocescope {

// Since the sources began.
struct RecordCounts {
  uint64_t taken = 0;
  uint64_t given_up = 0;
};

// Of a while, the last one.
struct RecordLoss {
  RecordCounts records;
  Duration over{};
};

// A sentence; empty where fewer than one of a thousand were given up.
std::string LossText(const RecordLoss& loss);

class RecentLoss {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLately = std::chrono::seconds(60);

  // In order of time.
  RecordLoss Note(const RecordCounts& counts, Clock::time_point now);

 private:
  struct Noted {
    RecordCounts counts;
    Clock::time_point at;
  };
  std::deque<Noted> noted_;  // the first a minute ago or, where there is one, a little more
};

}  // namespace rocescope
