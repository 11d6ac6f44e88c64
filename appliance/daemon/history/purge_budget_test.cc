// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/purge_budget.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rocescope {
namespace {

// A table of which `old` rows are too old; each step deletes what the budget allows.
struct Table {
  int64_t rows = 0;
  int64_t old = 0;
  PurgeBudget budget{PurgeShare(std::chrono::hours(24 * 90))};
  Duration time{};

  void Run(Duration duration) {
    for (const Duration end = time + duration; time < end; time += std::chrono::minutes(2)) {
      const int64_t allowed = budget.Allowed(time, rows);
      const int64_t deleted = std::min(allowed, old);
      rows -= deleted;
      old -= deleted;
      budget.Use(deleted, old > 0);
    }
  }
};

TEST(PurgeBudget, DeletesATwentyFourthPerHour) {
  Table table{.rows = 240'000, .old = 240'000};
  table.Run(std::chrono::hours(1));
  EXPECT_LE(table.rows, 231'000);
  EXPECT_GE(table.rows, 230'000);
  table.Run(std::chrono::hours(11));
  EXPECT_NEAR(static_cast<double>(table.rows), 120'000, 1000);
  table.Run(std::chrono::hours(13));
  EXPECT_EQ(table.old, 0) << "ends within about a day";
}

TEST(PurgeBudget, RestartsDoNotExceedTheLimit) {
  for (int i = 0; i < 1000; ++i) {
    PurgeBudget budget(1.0 / 24);
    EXPECT_EQ(budget.Allowed(std::chrono::minutes(i), 1'000'000), 0);
  }
}

TEST(PurgeBudget, SavesAtMostOneHour) {
  PurgeBudget budget(1.0 / 24);
  budget.Allowed(std::chrono::hours(0), 240);
  EXPECT_EQ(budget.Allowed(std::chrono::hours(1000), 240), 10);
}

TEST(PurgeBudget, SmallTableIsPurgedToo) {
  Table table{.rows = 3, .old = 3};
  table.Run(std::chrono::hours(25));
  EXPECT_EQ(table.rows, 0);
}

TEST(PurgeBudget, SteadyIngestIsNeverLimited) {
  for (const int64_t keep : {1, 2, 24, 24 * 14, 24 * 90}) {
    Table table{.rows = 1'000'000, .budget = PurgeBudget(PurgeShare(std::chrono::hours(keep)))};
    table.Run(std::chrono::minutes(10));
    const int64_t a_step = table.rows / (keep * 30);
    for (int i = 0; i < 1000; ++i) {
      table.rows += a_step;
      table.old += a_step;
      table.Run(std::chrono::minutes(2));
      ASSERT_FALSE(table.budget.is_limited()) << keep << " h, step " << i;
    }
  }
}

}  // namespace
}  // namespace rocescope
