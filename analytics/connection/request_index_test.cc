// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/request_index.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

Timestamp Microseconds(int64_t us) { return FromNanoseconds(us * 1000); }

TEST(RequestIndex, FindsEveryOwnerOfThePsnOnTheChannel) {
  RequestIndex index(64, std::chrono::milliseconds(50));
  index.Insert(1, 500, 7, Microseconds(100));
  index.Insert(1, 500, 8, Microseconds(110));
  index.Insert(2, 500, 9, Microseconds(110));
  index.Insert(1, 501, 10, Microseconds(110));
  RequestIndex::Matches matches;
  index.Find(1, 500, Microseconds(130), matches);

  ASSERT_EQ(matches.size, 2u);
  EXPECT_EQ(matches.items[0].owner, 7u);
  EXPECT_NEAR(matches.items[0].age.count(), 30'000, RequestIndex::kTick.count());
  EXPECT_EQ(matches.items[1].owner, 8u);
}

TEST(RequestIndex, NeitherTooOldNorLaterRequestsMatch) {
  RequestIndex index(64, std::chrono::milliseconds(50));
  index.Insert(1, 500, 7, Microseconds(0));
  index.Insert(1, 500, 8, Microseconds(60'001));
  RequestIndex::Matches matches;
  index.Find(1, 500, Microseconds(60'000), matches);

  EXPECT_EQ(matches.size, 0u);
}

TEST(RequestIndex, TheOldestGivesWayAndIsCounted) {
  RequestIndex index(1, std::chrono::milliseconds(50));
  for (uint32_t i = 0; i < RequestIndex::kPaths + 1; ++i) {
    index.Insert(1, i, i, Microseconds(100 + i));
  }
  RequestIndex::Matches oldest;
  index.Find(1, 0, Microseconds(200), oldest);
  RequestIndex::Matches second;
  index.Find(1, 1, Microseconds(200), second);

  EXPECT_EQ(oldest.size, 0u);
  EXPECT_EQ(second.size, 1u);
  EXPECT_EQ(index.evicted(), 1u);
}

}  // namespace
}  // namespace rocescope
