// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/thresholds.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rocescope {
namespace {

TEST(Thresholds, DefaultsAreWithinTheirRange) {
  Thresholds thresholds;
  std::set<std::string_view> names;
  VisitThresholds(thresholds,
                  [&]<typename T>(std::string_view name, T& value, std::string_view unit, T least,
                                  T most, std::string_view help) {
                    EXPECT_TRUE(names.insert(name).second) << name;
                    EXPECT_LT(least, most) << name;
                    EXPECT_GE(value, least) << name;
                    EXPECT_LE(value, most) << name;
                    EXPECT_FALSE(unit.empty()) << name;
                    EXPECT_TRUE(help.ends_with('.')) << name;
                  });
  EXPECT_TRUE(names.contains("pause_ratio"));
}

TEST(Thresholds, AreChangedThroughTheVisitor) {
  Thresholds thresholds;
  VisitThresholds(thresholds, [](std::string_view name, auto& value, auto&&...) {
    if (name == "incast_senders") value = 9;
  });
  EXPECT_EQ(thresholds, (Thresholds{.incast_senders = 9}));
}

}  // namespace
}  // namespace rocescope
