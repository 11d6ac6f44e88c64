// SPDX-License-Identifier: BSD-3-Clause
// Reasons for which the input does not allow a diagnosis.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace rocescope {

class DiagnosisInput;

enum class Obstacle : uint8_t {
  kNone,
  // Most addresses in the traffic are not addresses of NICs in the topology, although the topology
  // has addresses; or counters and flows contradict many links. No detector runs.
  kForeignTopology,
  // Counters are read less often than once per window, so that most windows have no reading of
  // their own. Detectors that compare counters window by window do not run.
  kSparseReadings,
  // Counter readings and packets do not overlap in time. No detector runs.
  kOtherTime,
  // A fault is detected by comparison with the time before it, which takes more windows. Findings
  // are valid; the absence of findings means nothing.
  kFewWindows,
};
inline constexpr std::array<std::string_view, 5> kObstacleNames = {
    "", "foreign_topology", "sparse_readings", "other_time", "few_windows"};

// How counters are read, which decides what can be proven with them.
enum class ReadingClass : uint8_t {
  kNone,          // there are no counters
  kSimultaneous,  // both ends of most links are read at the same time
  kEachWindow,    // at least about once per window, at any time
  kSparse,        // less often
};
inline constexpr std::array<std::string_view, 4> kReadingClassNames = {"", "simultaneous",
                                                                       "each_window", "sparse"};

// The minimum number of windows for a meaningful diagnosis.
inline constexpr size_t kEnoughWindows = 4;

struct Hindrance {
  Obstacle obstacle = Obstacle::kNone;
  ReadingClass readings = ReadingClass::kNone;
  uint32_t addresses = 0;           // in the traffic
  uint32_t addresses_known = 0;     // of these, in the topology
  uint32_t links_confirmed = 0;     // by counters or flows
  uint32_t links_contradicted = 0;  // by counters or flows
  Duration reading_period{};        // polling interval of counters, at least one window; 0: unknown

  friend bool operator==(const Hindrance&, const Hindrance&) = default;
};

// The time is proportional to the number of flows and counter series.
Hindrance HindranceTo(const DiagnosisInput& input);

}  // namespace rocescope
