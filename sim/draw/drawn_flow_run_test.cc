// SPDX-License-Identifier: BSD-3-Clause
// Simulates drawn scenarios with the flow model. No files are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/draw/draw.h"
#include "sim/flow/flow_model.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

class DrawnFlowRun : public ::testing::TestWithParam<uint32_t> {};

TEST_P(DrawnFlowRun, HasItsFaultsAndIterations) {
  std::ifstream file(ROCESCOPE_PRIORS, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const DrawOptions options = {.model = Model::kFlow,
                               .seed = 31,
                               .priors = LoadPriors(text, "priors.yaml").value(),
                               .stratified = true,
                               .healthy = 0.1,
                               .most_faults = kMaxConcurrent,
                               .benign = true,
                               .windows = 60};
  const auto drawn = DrawScenario(options, GetParam());
  ASSERT_TRUE(drawn.has_value()) << drawn.error().message;
  SCOPED_TRACE(drawn->yaml);
  const auto scenario = LoadScenario(drawn->yaml, drawn->name);
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  (*model)->Run(nullptr);
  const Outcome outcome = (*model)->TakeOutcome();
  uint64_t iterations = 0;
  for (const Outcome::JobStart& start : outcome.starts) iterations += start.iterations.size();
  EXPECT_GT(iterations, 20u);
  // Frames have no travel time: each is delivered or lost.
  uint64_t lost = 0;
  for (const auto& [cause, frames] : outcome.frames.lost) lost += frames;
  EXPECT_GT(outcome.frames.sent, 0u);
  EXPECT_EQ(outcome.frames.sent, outcome.frames.delivered + lost);
  ASSERT_EQ(outcome.faults.size(), drawn->kinds.size());
  for (size_t i = 0; i < outcome.faults.size(); ++i) {
    EXPECT_EQ(outcome.faults[i].options.kind, drawn->kinds[i]);
    // A fault is visible from its onset, or from the losses that it causes.
    EXPECT_GE(outcome.faults[i].visible, outcome.faults[i].options.onset);
  }
}

INSTANTIATE_TEST_SUITE_P(Drawn, DrawnFlowRun, ::testing::Range(1u, 25u));

}  // namespace
}  // namespace rocescope::sim
