// SPDX-License-Identifier: BSD-3-Clause
// Why what a diagnosis would say is not worth saying: it would be about the input, not the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace rocescope {

class Scene;

enum class Obstacle : uint8_t {
  kNone,
  // Most addresses that talk are of no NIC that the topology has, though it has addresses: nothing
  // is looked for.
  kForeignTopology,
  // Counters are read less often than once a window, so that most windows have a share of what they
  // did over several, and begin and end where nobody looked: likewise.
  kSparseReadings,
  // No counter was read while packets passed: likewise.
  kOtherTime,
  // A fault is told from what was before it, and once is an accident: what is found in so few
  // windows stands, what is not says nothing.
  kFewWindows,
};
inline constexpr std::array<std::string_view, 5> kObstacleNames = {
    "", "foreign_topology", "sparse_readings", "other_time", "few_windows"};

// The least that says something.
inline constexpr size_t kEnoughWindows = 4;

struct Hindrance {
  Obstacle obstacle = Obstacle::kNone;
  uint32_t addresses = 0;        // that talk, and of those
  uint32_t addresses_known = 0;  // the topology's
  Duration reading_period{};     // of counters, a window or more; 0: nobody told any twice

  friend bool operator==(const Hindrance&, const Hindrance&) = default;
};

// Takes the time of going over all flows and series once.
Hindrance HindranceTo(const Scene& scene);

}  // namespace rocescope
