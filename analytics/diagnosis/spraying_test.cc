// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/spraying.h"

#include <gtest/gtest.h>

#include <vector>

namespace rocescope {
namespace {

FlowPaths Flows(size_t exact, size_t spread, size_t rerouted) {
  std::vector<FlowPath> flows;
  for (size_t i = 0; i < exact; ++i) {
    flows.push_back({.intervals = {{.state = PathState::kExact}}});
  }
  for (size_t i = 0; i < spread; ++i) {
    flows.push_back({.intervals = {{.state = PathState::kExact}, {.state = PathState::kSpread}}});
  }
  const PathInterval reroute = {.began = PathChange::kRerouted, .state = PathState::kExact};
  for (size_t i = 0; i < rerouted; ++i) {
    flows.push_back({.intervals = {{.state = PathState::kExact}, reroute, reroute, reroute}});
  }
  return FlowPaths(std::move(flows));
}

TEST(IsSpraying, IsAPropertyOfManyFlows) {
  EXPECT_FALSE(IsSpraying(Flows(0, 0, 0)));
  EXPECT_FALSE(IsSpraying(Flows(0, 5, 0))) << "too few flows";
  EXPECT_FALSE(IsSpraying(Flows(76, 24, 0))) << "one link may have flapped";
  EXPECT_TRUE(IsSpraying(Flows(70, 30, 0)));
  EXPECT_TRUE(IsSpraying(Flows(70, 10, 20)));
}

TEST(IsSpraying, FlowsThroughASingleSwitchDoNotCount) {
  std::vector<FlowPath> flows;
  for (size_t i = 0; i < 10; ++i) flows.push_back({.intervals = {{.state = PathState::kSpread}}});
  for (topology::PortIndex i = 0; i < 90; ++i) {
    flows.push_back({.intervals = {{.state = PathState::kExact, .certain = {i, i + 100}}}});
  }
  EXPECT_TRUE(IsSpraying(FlowPaths(std::move(flows))));
}

TEST(IsSpraying, ReroutesThatAnEventExplainsDoNotCount) {
  std::vector<FlowPath> flows;
  const PathInterval reroute = {.began = PathChange::kRerouted, .reason = PathReason::kLinkDown};
  for (size_t i = 0; i < 20; ++i) flows.push_back({.intervals = {reroute, reroute, reroute}});
  EXPECT_FALSE(IsSpraying(FlowPaths(std::move(flows))));
}

}  // namespace
}  // namespace rocescope
