// SPDX-License-Identifier: BSD-3-Clause
// Compares both models on scenarios that they have in common.
#include "sim/flow/calibration.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace rocescope::sim {
namespace {

class CalibrationTest : public testing::TestWithParam<const char*> {};

TEST_P(CalibrationTest, BothModelsAgree) {
  const std::string path = fmt::format("{}/{}.yaml", ROCESCOPE_CALIBRATION, GetParam());
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const auto scenario = LoadScenario(text.str(), path);
  ASSERT_TRUE(scenario) << scenario.error().message;
  const auto calibration = Calibrate(*scenario);
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_GE(calibration->jobs[0].iterations, 10u);
  EXPECT_LE(calibration->WorstIteration(), 0.05);
  EXPECT_LE(calibration->WorstUtilisation(), 0.05) << calibration->ports[0].port;
}

INSTANTIATE_TEST_SUITE_P(, CalibrationTest, testing::Values("ring-rails", "degraded", "bit-errors"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rocescope::sim
