// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/row_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
constexpr std::chrono::milliseconds kNone{0};

HistoryRow Row(size_t bytes = 0) { return PastEvent{.message = std::string(bytes, 'x')}; }

TEST(RowQueue, TakesNoMoreThanItsBound) {
  RowQueue queue({.rows = 3, .bytes = 1 << 20});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Add(Row()));
  EXPECT_FALSE(queue.Add(Row()));
  EXPECT_THAT(queue.Take(2, kNone, kNone), SizeIs(2));
  EXPECT_TRUE(queue.Add(Row()));
  EXPECT_THAT(queue.Take(9, kNone, kNone), SizeIs(2));
  EXPECT_THAT(queue.Take(9, kNone, kNone), IsEmpty());
}

TEST(RowQueue, BoundsBytesToo) {
  RowQueue queue({.rows = 100, .bytes = 10'000});
  EXPECT_TRUE(queue.Add(Row(6000)));
  EXPECT_FALSE(queue.Add(Row(6000)));
  queue.Take(1, kNone, kNone);
  EXPECT_TRUE(queue.Add(Row(6000)));
}

TEST(RowQueue, WhenClosedGivesWhatItHasAndTakesNothing) {
  RowQueue queue({.rows = 3, .bytes = 1 << 20});
  queue.Add(Row());
  queue.Close();
  EXPECT_FALSE(queue.Add(Row()));
  EXPECT_THAT(queue.Take(9, std::chrono::hours(1), std::chrono::hours(1)), SizeIs(1));
}

}  // namespace
}  // namespace rocescope
