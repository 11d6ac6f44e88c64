// SPDX-License-Identifier: BSD-3-Clause
// Checks the scenarios of sim/scenarios: each fault has an observable effect, each fault kind has a
// scenario, and healthy scenarios have no fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "sim/run/simulation.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

std::vector<std::string> LibraryNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ROCESCOPE_SCENARIOS)) {
    // The packet model would need weeks for a scenario of the flow model.
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (entry.path().extension() != ".yaml" || text.find("\nmodel: flow\n") != std::string::npos) {
      continue;
    }
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Scenario Load(const std::string& name) {
  std::ifstream file(std::filesystem::path(ROCESCOPE_SCENARIOS) / (name + ".yaml"));
  auto scenario = LoadScenario(std::string(std::istreambuf_iterator<char>(file), {}), name);
  EXPECT_TRUE(scenario.has_value()) << scenario.error().message;
  return *std::move(scenario);
}

TEST(LibraryTest, HasEachFaultKind) {
  std::set<FaultKind> kinds;
  for (const std::string& name : LibraryNames()) {
    const Scenario scenario = Load(name);
    EXPECT_EQ(scenario.name, name);
    EXPECT_FALSE(scenario.about.empty()) << name;
    for (const FaultOptions& fault : scenario.faults) kinds.insert(fault.kind);
  }
  for (size_t i = 0; i < kFaultKinds; ++i) {
    EXPECT_TRUE(kinds.contains(static_cast<FaultKind>(i))) << kFaultInfos[i].name;
  }
}

class LibraryRunOf : public ::testing::TestWithParam<std::string> {};

TEST_P(LibraryRunOf, HasAnObservableFaultOrNone) {
  const Scenario scenario = Load(GetParam());
  auto simulation = Simulation::Make(scenario, {}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());
  const bool control = GetParam().starts_with("healthy") || GetParam() == "wire-check";
  EXPECT_EQ(scenario.faults.empty(), control);
  for (const Injector::Happened& fault : simulation->injector().happened()) {
    EXPECT_NE(fault.visible, kNever) << InfoOf(fault.options.kind).name;
    EXPECT_GE(fault.visible, fault.options.onset);
  }
  for (const auto& job : simulation->jobs()) {
    EXPECT_GT(job->iterations().size(), 1u) << job->options().name;
    EXPECT_FALSE(control && job->failed()) << job->options().name;
  }
}

std::string TestName(const ::testing::TestParamInfo<std::string>& scenario) {
  std::string name = scenario.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Library, LibraryRunOf, ::testing::ValuesIn(LibraryNames()), TestName);

// An all-to-all over too few uplinks causes queues, CE marks and rate cuts without any fault.
TEST(LibraryTest, HealthyAllToAllCausesCongestion) {
  const Scenario scenario = Load("healthy-all-to-all");
  auto simulation = Simulation::Make(scenario, {}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());
  EXPECT_GT(simulation->recorder().queues().size(), 0u);
}

}  // namespace
}  // namespace rocescope::sim
