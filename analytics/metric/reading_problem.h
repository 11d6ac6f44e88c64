// SPDX-License-Identifier: BSD-3-Clause
// Counts of readings that were not used, with one example of each kind.
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
  OddReadings unknown;    // the node is in the topology, but the entity on it is not
  OddReadings strayed;    // the time is far from all other readings: ignored
  OddReadings late;       // older than another reading of the same metric: ignored
  OddReadings backwards;  // the counter decreased: its increments in between are unknown
  std::array<OddReadings, kMetricCount> impossible;  // indexed by metric: ignored
};

}  // namespace rocescope
