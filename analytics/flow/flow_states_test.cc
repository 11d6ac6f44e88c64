// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/flow/flow_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsNull;
using testing::NotNull;

class FlowStatesTest : public testing::Test {
 protected:
  FlowId Flow(uint32_t qpn, int64_t second = 0) {
    flows_.SetTime(Timestamp(std::chrono::seconds(1000 + second)));
    return flows_.Intern({.destination_qpn = {qpn}});
  }
  std::vector<std::pair<FlowId, int>> All() const {
    std::vector<std::pair<FlowId, int>> all;
    table_.ForEach([&](FlowId flow, int state) { all.emplace_back(flow, state); });
    return all;
  }

  FlowRegistry flows_{4};
  FlowStates<int> table_{flows_, 2};
};

TEST_F(FlowStatesTest, KeepsTheStateOfFlows) {
  Flow(10);
  *table_.FindOrAdd(Flow(11)) = 7;
  *table_.FindOrAdd(Flow(12)) = 8;
  EXPECT_THAT(All(), ElementsAre(std::pair(1, 7), std::pair(2, 8)));
  EXPECT_EQ(*table_.FindOrAdd(1), 7);
  EXPECT_THAT(table_.Find(0), IsNull());
  EXPECT_THAT(table_.Find(kNoFlow), IsNull());
}

TEST_F(FlowStatesTest, RefusesFlowsWithoutAnId) {
  EXPECT_THAT(table_.FindOrAdd(kNoFlow), IsNull());
  EXPECT_EQ(table_.refused(), 1u);
}

TEST_F(FlowStatesTest, EvictsOnlyFlowsThatHaveBeenIdle) {
  table_.FindOrAdd(Flow(10));
  table_.FindOrAdd(Flow(11, 5));
  EXPECT_THAT(table_.FindOrAdd(Flow(12, 9)), IsNull());
  EXPECT_EQ(table_.refused(), 1u);
  EXPECT_THAT(table_.FindOrAdd(Flow(12, 11)), NotNull());
  EXPECT_THAT(All(), ElementsAre(std::pair(1, 0), std::pair(2, 0)));
  EXPECT_EQ(table_.evicted(), 1u);
}

TEST_F(FlowStatesTest, ForgetsFlowsThatTheRegistryEvicts) {
  *table_.FindOrAdd(Flow(10)) = 7;
  for (const uint32_t qpn : {11u, 12u, 13u}) Flow(qpn, 20);
  const FlowId next = Flow(14, 20);
  EXPECT_EQ(next, 0u);
  EXPECT_THAT(table_.Find(next), IsNull());
  EXPECT_EQ(*table_.FindOrAdd(next), 0);
  EXPECT_EQ(table_.evicted(), 1u);
}

}  // namespace
}  // namespace rocescope
