// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/flow_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/port/test_port.h"

namespace rocescope::test {
namespace {

TEST(SteerCongestionSignals, LeavesAPortAloneThatHasNoRules) {
  TestPort port("net_null6", "size=64");
  ASSERT_TRUE(port->Start());
  const SteeringRules rules = SteerCongestionSignals(port->id(), 0);
  EXPECT_THAT(rules.installed, testing::IsEmpty());
  EXPECT_THAT(rules.not_installed, testing::ElementsAre("CNPs", "NAKs"));
  EXPECT_THAT(rules.refused, testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace rocescope::test
