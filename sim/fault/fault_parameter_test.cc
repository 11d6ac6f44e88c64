// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/fault_parameter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace rocescope::sim {
namespace {

TEST(FaultParameterTest, DescribesEachParameterOfEachKindOnce) {
  std::set<std::string_view> used;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    const auto names = ParametersOf(kind);
    used.insert(names.begin(), names.end());
    EXPECT_EQ(std::ranges::count(names, "growth") > 0, CanGrow(kind)) << InfoOf(kind).name;
  }
  std::set<std::string_view> described;
  for (const FaultParameter& parameter : FaultParameters()) {
    EXPECT_TRUE(described.insert(parameter.name).second) << parameter.name;
  }
  EXPECT_EQ(used, described);
}

TEST(FaultParameterTest, SplitsTheListOfAKind) {
  EXPECT_EQ(ParametersOf(FaultKind::kDegradedRate),
            (std::vector<std::string_view>{"factor", "growth"}));
  EXPECT_TRUE(ParametersOf(FaultKind::kLinkDown).empty());
}

TEST(FaultParameterTest, DefaultsHaveTheirUnits) {
  std::map<std::string_view, std::string> defaults;
  for (const FaultParameter& parameter : FaultParameters()) {
    if (parameter.usual != nullptr) defaults[parameter.name] = parameter.usual({});
  }
  EXPECT_EQ(defaults["probability"], "0.01");
  EXPECT_EQ(defaults["factor"], "0.25; straggler: 4");
  EXPECT_EQ(defaults["period"], "1ms");
  EXPECT_EQ(defaults["rate"], "10G");
  EXPECT_EQ(defaults["ecn_minimum"], "8M");
  EXPECT_EQ(defaults["message"], "1M");
  EXPECT_FALSE(defaults.contains("delay"));  // required
}

}  // namespace
}  // namespace rocescope::sim
