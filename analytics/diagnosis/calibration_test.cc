// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/calibration.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

// The odds of 0.9 are 9, those of 0.75 are 3: ln(3) is between them.
TEST(Calibration, ShiftsTheLogarithmOfTheOdds) {
  constexpr double kLn3 = 1.0986122886681098;
  EXPECT_NEAR(ShiftedProbability(0.9, -kLn3), 0.75, 1e-12);
  EXPECT_NEAR(ShiftedProbability(0.75, kLn3), 0.9, 1e-12);
}

TEST(Calibration, KeepsProbabilitiesWithoutAShift) {
  for (const double probability : {0.0, 0.123456789, 0.98, 1.0}) {
    EXPECT_EQ(ShiftedProbability(probability, 0), probability);
  }
}

TEST(Calibration, KeepsTheOrderAndTheRange) {
  for (const double shift : {-30.0, -2.0, 0.5, 30.0}) {
    double before = 0;
    for (const double probability : {0.0, 0.05, 0.5, 0.9, 0.99, 1.0}) {
      const double shifted = ShiftedProbability(probability, shift);
      EXPECT_GE(shifted, before);
      EXPECT_LE(shifted, 1);
      before = shifted;
    }
  }
}

TEST(Calibration, AnUnknownDetectorIsNotCorrected) {
  EXPECT_EQ(CalibrationShift("guess", ReadingClass::kEachWindow), 0);
}

TEST(Calibration, ProbabilitiesOfAFindingSumToAtMostOne) {
  Findings findings = {
      {.uncalibrated = 0.7, .alternatives = {{.probability = 0.4}, {.probability = 0.2}}},
      {.uncalibrated = 0.5, .alternatives = {{.probability = 0.3}}}};
  CalibrateFindings(ReadingClass::kEachWindow, findings);
  EXPECT_EQ(findings[0].confidence, 0.7);
  EXPECT_NEAR(findings[0].alternatives[0].probability, 0.2, 1e-12);
  EXPECT_NEAR(findings[0].alternatives[1].probability, 0.1, 1e-12);
  EXPECT_EQ(findings[1].alternatives[0].probability, 0.3);
}

TEST(Calibration, IsIdempotent) {
  Findings findings = {
      {.uncalibrated = 0.8, .detector = "late_answers", .alternatives = {{.probability = 0.2}}}};
  CalibrateFindings(ReadingClass::kEachWindow, findings);
  const Findings once = findings;
  CalibrateFindings(ReadingClass::kEachWindow, findings);
  EXPECT_EQ(findings, once);
}

}  // namespace
}  // namespace rocescope
