// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/record/metric.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace rocescope {
namespace {

TEST(Metric, NamesAreUnique) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kMetricCount; ++i) {
    EXPECT_TRUE(names.insert(kMetrics[i].name).second) << kMetrics[i].name;
    EXPECT_EQ(MetricNamed(kMetrics[i].name), static_cast<Metric>(i));
    EXPECT_FALSE(kMetrics[i].unit.empty());
  }
  EXPECT_EQ(MetricNamed("pfc"), std::nullopt);
}

TEST(EntityKind, IsFoundByItsName) {
  EXPECT_EQ(EntityKindNamed("nic"), EntityKind::kNic);
  EXPECT_EQ(EntityKindNamed(""), std::nullopt);
}

}  // namespace
}  // namespace rocescope
