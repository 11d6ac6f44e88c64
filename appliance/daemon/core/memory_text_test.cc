// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/memory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

TEST(MemoryText, NamesTheSizeThatALargeTopologyNeeds) {
  EXPECT_EQ(TopologyMemoryText(512 * kMebibyte, 1024 * kMebibyte), "");
  EXPECT_EQ(TopologyMemoryText(900 * kMebibyte + 1, 1024 * kMebibyte),
            "the topology takes 901M of the memory budget of 1G, more than half: set the key "
            "`memory` to 1802M or more (the budget never exceeds three quarters of the physical "
            "memory)");
}

TEST(MemoryText, ReportsRefusedSeriesForFiveMinutes) {
  const Timestamp refused = Timestamp(std::chrono::hours(500'000));
  const MetricStatistics counters = {
      .series = 65'536, .series_refused = 1'234, .series_refused_at = refused};
  const auto text = [&](Duration later) {
    return RefusedSeriesText(counters, refused + later, 1024 * kMebibyte);
  };
  EXPECT_THAT(text(std::chrono::minutes(5)),
              testing::HasSubstr("memory budget of 1G is too small for the counters: 1,234 "
                                 "readings of series beyond the present 65,536 were refused; "
                                 "increase the key `memory`"));
  EXPECT_EQ(text(std::chrono::minutes(6)), "");
  EXPECT_EQ(RefusedSeriesText({}, {}, kMebibyte), "");
}

}  // namespace
}  // namespace rocescope
