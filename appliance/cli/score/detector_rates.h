// SPDX-License-Identifier: BSD-3-Clause
// Compares the false findings of each detector with the rate that it is designed for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/score/finding_figures.h"

namespace rocescope {

struct DetectorRate {
  std::string_view detector;  // empty: all detectors together
  uint64_t findings = 0;
  uint64_t false_findings = 0;
  double stated = 0;                      // false findings per fabric-day
  std::optional<double> measured = {};    // the same; unset: the fabric time is unknown
  std::optional<Interval> interval = {};  // 95 % interval (Poisson)

  // The measured rate is higher than the stated one, and not by chance. Runs with faults count too,
  // so that a detector that takes a symptom of a fault for another fault is judged as well.
  bool IsViolated() const { return interval && interval->low > stated; }
};

// In the order of the registry of detectors, with all detectors together at the end.
std::vector<DetectorRate> DetectorRatesOf(std::span<const RunFindings> runs);

// Empty if the fabric time is unknown.
std::string RenderDetectorRates(std::span<const DetectorRate> rates);

}  // namespace rocescope
