// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/record_taker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr RecordTaker::Clock::time_point kStart{std::chrono::hours(1)};
constexpr Timestamp At(int64_t ms) {
  return FromNanoseconds(1'700'000'000'000'000'000 + ms * 1'000'000);
}

// Collects what reaches the sink. The test acts as the lcores.
struct Taken {
  RecordExchange a{16};
  RecordExchange b{16};
  std::vector<uint64_t> bytes;
  std::vector<Timestamp> times;
  std::function<void()> meanwhile = [] {};
  RecordTaker taker{{&a, &b},
                    {.ingest =
                         [this](const RecordBatch& records) {
                           for (const FlowRecord& flow : records.flows) bytes.push_back(flow.bytes);
                           meanwhile();
                         },
                     .advance = [this](Timestamp now) { times.push_back(now); }}};

  static void Hand(RecordExchange& lcore, Timestamp reached, uint64_t bytes = 0) {
    if (bytes > 0) lcore.current().flows.push_back({.bytes = bytes});
    lcore.HandOver(reached, RecordExchange::WhenFull::kKeep);
  }
};

TEST(RecordTaker, TakesOneBatchOfEachLcoreInARound) {
  Taken taken;
  Taken::Hand(taken.a, At(1), 10);
  Taken::Hand(taken.a, At(2), 11);
  Taken::Hand(taken.b, At(1), 20);
  EXPECT_TRUE(taken.taker.TakeRound(kStart));
  EXPECT_THAT(taken.bytes, ElementsAre(10, 20));
  EXPECT_TRUE(taken.taker.TakeRound(kStart));
  EXPECT_THAT(taken.bytes, ElementsAre(10, 20, 11));
  EXPECT_FALSE(taken.taker.TakeRound(kStart));
}

TEST(RecordTaker, DoesNotStarveOtherLcores) {
  Taken taken;
  taken.meanwhile = [&] { Taken::Hand(taken.a, At(1), 1); };  // produces as fast as it is read
  Taken::Hand(taken.a, At(1), 1);
  Taken::Hand(taken.b, At(1), 7);
  EXPECT_TRUE(taken.taker.TakeRound(kStart));
  EXPECT_THAT(taken.bytes, ElementsAre(1, 7));
}

TEST(RecordTaker, AdvancesToTheTimeThatAllLcoresReached) {
  Taken taken;
  Taken::Hand(taken.a, At(30));
  Taken::Hand(taken.b, At(20));
  taken.taker.TakeRound(kStart);
  EXPECT_THAT(taken.times, ElementsAre(At(20)));
}

TEST(RecordTaker, DoesNotWaitForAnLcoreThatHasDecodedNothing) {
  Taken taken;
  Taken::Hand(taken.a, At(30));
  Taken::Hand(taken.b, Timestamp{});
  taken.taker.TakeRound(kStart);
  EXPECT_THAT(taken.times, ElementsAre(At(30)));
}

// The lcore still hands over many empty batches per second.
TEST(RecordTaker, IgnoresAnLcoreWithoutProgressForASecond) {
  Taken taken;
  for (const auto& [ms, expected] : {std::pair{0, 20}, {600, 20}, {1001, 1001}, {1600, 1600}}) {
    taken.times.clear();
    Taken::Hand(taken.a, At(ms));
    Taken::Hand(taken.b, At(20));
    taken.taker.TakeRound(kStart + std::chrono::milliseconds(ms));
    if (ms == 0) continue;  // lcore a itself is at 0 ms
    EXPECT_THAT(taken.times, ElementsAre(At(expected))) << ms;
  }
  Taken::Hand(taken.b, At(1300));  // it is active again
  taken.times.clear();
  taken.taker.TakeRound(kStart + std::chrono::milliseconds(1700));
  EXPECT_THAT(taken.times, ElementsAre(At(1300)));
}

TEST(RecordTaker, HasNoTimeWithoutLcores) {
  Taken taken;
  EXPECT_FALSE(taken.taker.TakeRound(kStart));
  EXPECT_THAT(taken.times, IsEmpty());
}

}  // namespace
}  // namespace rocescope
