// SPDX-License-Identifier: BSD-3-Clause
// Corrects the confidence of findings by how often findings of the same detector, with counters
// read in the same way, were right in campaigns. `testbeds/calibrate` measures that.
#pragma once

#include <optional>
#include <string_view>

#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/obstacle.h"

namespace rocescope {

// A row of calibration.inc.
struct CalibrationRow {
  std::string_view detector;
  std::optional<ReadingClass> readings;  // unset: all classes that have no row
  double shift = 0;                      // added to the logarithm of the odds
};

// Returns 0 for a detector without a row.
double CalibrationShift(std::string_view detector, ReadingClass readings);

// Shifts the logarithm of the odds of a probability. Monotone in both, and within 0 to 1.
double ShiftedProbability(double probability, double shift);

// Sets the confidence of each finding from its uncalibrated one. Scales alternatives down so that
// all probabilities of a finding sum to at most 1.
void CalibrateFindings(ReadingClass readings, Findings& findings);

}  // namespace rocescope
