// SPDX-License-Identifier: BSD-3-Clause
#include "base/window_row.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

struct Entry {
  int64_t window = 0;
  int value = 0;
};

TEST(EntryOf, CreatesEntriesOnceInOrder) {
  std::vector<Entry> row;
  EntryOf(row, 7)->value = 70;
  EntryOf(row, 5)->value = 50;
  EntryOf(row, 6)->value = 60;
  EXPECT_EQ(EntryOf(row, 7)->value, 70);
  ASSERT_EQ(row.size(), 3u);
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i].window, static_cast<int64_t>(5 + i));
    EXPECT_EQ(row[i].value, 10 * row[i].window);
  }
}

TEST(EntryOf, EvictsOldestWindowWhenFull) {
  std::vector<Entry> row;
  for (size_t i = 0; i < kMaxWindows; ++i) EntryOf(row, static_cast<int64_t>(2 * i));
  EXPECT_EQ(EntryOf(row, 301)->window, 301);  // in the middle
  EXPECT_EQ(row.size(), kMaxWindows);
  EXPECT_EQ(row.front().window, 2);
  EXPECT_EQ(EntryOf(row, 1000)->window, 1000);  // at the end
  EXPECT_EQ(row.front().window, 4);
  EXPECT_EQ(row.back().window, 1000);
  for (size_t i = 1; i < row.size(); ++i) EXPECT_LT(row[i - 1].window, row[i].window);
}

TEST(EntryOf, ReturnsNullForWindowsOlderThanAFullSeries) {
  std::vector<Entry> row;
  for (size_t i = 0; i < kMaxWindows; ++i) EntryOf(row, static_cast<int64_t>(i + 1));
  EXPECT_EQ(EntryOf(row, 0), nullptr);
  EXPECT_NE(EntryOf(row, 1), nullptr);
  EXPECT_EQ(row.size(), kMaxWindows);
}

}  // namespace
}  // namespace rocescope
