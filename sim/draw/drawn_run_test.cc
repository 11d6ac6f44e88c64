// SPDX-License-Identifier: BSD-3-Clause
// End-to-end tests of drawn scenarios: hundreds are loaded, and one of each kind is simulated. No
// files are written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "sim/draw/draw.h"
#include "sim/run/simulation.h"
#include "sim/run/write_truth.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

using ::testing::HasSubstr;

DrawOptions Options(uint64_t seed, double healthy) {
  std::ifstream file(ROCESCOPE_PRIORS, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return {.seed = seed,
          .priors = LoadPriors(text, "priors.yaml").value(),
          .stratified = true,
          .healthy = healthy};
}

TEST(DrawnScenariosTest, LoadWithTheFaultInTheirNames) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const DrawOptions options = Options(seed, 0.3);
    for (uint32_t number = 1; number <= 110; ++number) {
      const auto drawn = DrawScenario(options, number);
      ASSERT_TRUE(drawn.has_value()) << drawn.error().message;
      SCOPED_TRACE(drawn->yaml);
      const auto scenario = LoadScenario(drawn->yaml, drawn->name);
      ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
      EXPECT_EQ(scenario->name, drawn->name);
      ASSERT_EQ(scenario->faults.size(), drawn->kinds.size());
      ASSERT_LE(drawn->kinds.size(), 1u);
      if (!drawn->kinds.empty()) {
        EXPECT_EQ(scenario->faults[0].kind, drawn->kinds[0]);
        EXPECT_THAT(drawn->name, HasSubstr(InfoOf(drawn->kinds[0]).name));
      } else {
        EXPECT_THAT(drawn->name, HasSubstr("healthy"));
      }
    }
  }
}

class DrawnRunOf : public ::testing::TestWithParam<FaultKind> {};

TEST_P(DrawnRunOf, ConservesFramesAndHasAnObservableFault) {
  const DrawOptions options = Options(21, 0);
  uint32_t number = 1;  // the first round contains each kind once
  while (KindOf(options, number) != GetParam()) ASSERT_LE(++number, kFaultKinds);
  const DrawnScenario drawn = DrawScenario(options, number).value();
  SCOPED_TRACE(drawn.yaml);
  const auto scenario = LoadScenario(drawn.yaml, drawn.name).value();
  auto simulation = Simulation::Make(scenario, {}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());

  Network& network = simulation->network();
  uint64_t sent = 0;
  uint64_t ended = network.shared().frames.out() - network.shared().pauses_out;  // frames in flight
  for (topology::NicIndex i = 0; i < network.fabric().nics().size(); ++i) {
    sent += network.nic(i).counters().tx_frames;
    ended += network.nic(i).delivered();
  }
  for (const uint64_t lost : network.shared().lost) ended += lost;
  EXPECT_EQ(sent, ended);

  ASSERT_EQ(simulation->injector().happened().size(), 1u);
  const Injector::Happened& fault = simulation->injector().happened()[0];
  EXPECT_NE(fault.visible, kNever);
  EXPECT_GE(fault.visible, fault.options.onset);
  const std::string truth = RenderTruth(*simulation);
  EXPECT_THAT(truth, HasSubstr("\"kind\": \"" + std::string(InfoOf(GetParam()).name) + "\""));
  EXPECT_THAT(truth, ::testing::Not(HasSubstr("\"exposed_jobs\": []")));
}

std::vector<FaultKind> AllKinds() {
  std::vector<FaultKind> kinds;
  kinds.reserve(kFaultKinds);
  for (size_t i = 0; i < kFaultKinds; ++i) kinds.push_back(static_cast<FaultKind>(i));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Drawn, DrawnRunOf, ::testing::ValuesIn(AllKinds()),
                         [](const auto& kind) { return std::string(InfoOf(kind.param).name); });

}  // namespace
}  // namespace rocescope::sim
