// SPDX-License-Identifier: BSD-3-Clause
// Readings that nothing was made of, counted, and one of each kind by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "dataplane/record/record.h"

namespace rocescope {

struct OddReadings {
  uint64_t count = 0;
  std::string example;  // the first one
};

struct ReadingProblem {
  OddReadings unknown;    // of nodes that the topology has, and of what it has not there
  OddReadings strayed;    // of times far from all others': left out
  OddReadings late;       // older than another of the same metric: left out
  OddReadings backwards;  // of counters that fell: what they did meanwhile is not known
  std::array<OddReadings, kMetricCount> impossible;  // by metric: left out
};

}  // namespace rocescope
