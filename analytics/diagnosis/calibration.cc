// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "analytics/diagnosis/detectors.h"

namespace rocescope {
namespace {

// The first row only keeps the table from being empty.
constexpr CalibrationRow kRows[] = {
    {},
#define ROW(detector, readings, shift) {#detector, ReadingClass::readings, shift},
#define POOLED(detector, shift) {#detector, std::nullopt, shift},
#include "analytics/diagnosis/calibration.inc"
#undef POOLED
#undef ROW
};

static_assert(std::ranges::all_of(std::span(kRows).subspan(1),
                                  [](const CalibrationRow& row) {
                                    return FindDetector(row.detector) != nullptr;
                                  }),
              "calibration.inc names an unknown detector: run testbeds/calibrate again");

}  // namespace

double CalibrationShift(std::string_view detector, ReadingClass readings) {
  double pooled = 0;
  for (const CalibrationRow& row : kRows) {
    if (row.detector != detector) continue;
    if (row.readings == readings) return row.shift;
    if (!row.readings) pooled = row.shift;
  }
  return pooled;
}

double ShiftedProbability(double probability, double shift) {
  if (shift == 0 || probability <= 0) return probability;
  constexpr double kMost = 0.999;  // the odds of 1 are infinite
  const double least = std::min(probability, kMost);
  return 1 / (1 + (1 - least) / least * std::exp(-shift));
}

void CalibrateFindings(ReadingClass readings, Findings& findings) {
  for (Finding& finding : findings) {
    finding.confidence =
        ShiftedProbability(finding.uncalibrated, CalibrationShift(finding.detector, readings));
    const double others =
        std::accumulate(finding.alternatives.begin(), finding.alternatives.end(), 0.0,
                        [](double sum, const Suspect& rival) { return sum + rival.probability; });
    if (finding.confidence + others <= 1) continue;
    for (Suspect& rival : finding.alternatives) {
      rival.probability *= (1 - finding.confidence) / others;
    }
  }
}

}  // namespace rocescope
