// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/psn_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>

namespace rocescope {
namespace {

PsnTracker After(std::initializer_list<uint32_t> psns) {
  PsnTracker tracker;
  for (const uint32_t psn : psns) tracker.Observe(psn, 0);
  return tracker;
}

TEST(PsnTracker, KnowsNothingBeforeTheFirstPacket) { EXPECT_FALSE(PsnTracker().valid()); }

TEST(PsnTracker, BeginsWithWhateverComesFirst) {
  PsnTracker tracker;
  EXPECT_EQ(tracker.Observe(4711, 0), PsnVerdict::kFirst);
  EXPECT_EQ(tracker.highest(), 4711u);
  EXPECT_EQ(tracker.unseen(), 0u);
}

TEST(PsnTracker, WrapsFromTheLast24BitNumberToZero) {
  PsnTracker tracker = After({0xfffffe, 0xffffff});
  EXPECT_EQ(tracker.Observe(0, 0), PsnVerdict::kInOrder);
  EXPECT_EQ(tracker.highest(), 0u);
  EXPECT_EQ(tracker.unseen() + tracker.restarts(), 0u);
}

TEST(PsnTracker, CountsAGapAcrossTheWrap) {
  EXPECT_EQ(After({0xfffffe, 2}).unseen(), 3u);  // ffffff, 0, 1
}

TEST(PsnTracker, CountsWhatAGapLeftOut) { EXPECT_EQ(After({10, 15}).unseen(), 4u); }

TEST(PsnTracker, TakesAnUnseenPacketBackWhenItComesLate) {
  PsnTracker tracker = After({10, 13});
  EXPECT_EQ(tracker.Observe(11, 0), PsnVerdict::kReordered);
  EXPECT_EQ(tracker.unseen(), 1u);
  EXPECT_EQ(tracker.reordered(), 1u);
  EXPECT_EQ(tracker.resent(), 0u);
  EXPECT_EQ(tracker.highest(), 13u);
}

TEST(PsnTracker, CallsThePacketSeenTwiceResent) {
  PsnTracker tracker = After({10, 11, 12});
  EXPECT_EQ(tracker.Observe(11, 0), PsnVerdict::kResent);
  EXPECT_EQ(tracker.Observe(12, 0), PsnVerdict::kResent);
  EXPECT_EQ(tracker.resent(), 2u);
  EXPECT_EQ(tracker.unseen() + tracker.reordered(), 0u);
}

TEST(PsnTracker, CallsALatePacketResentWhenItComesAgain) {
  PsnTracker tracker = After({10, 12, 11});
  EXPECT_EQ(tracker.Observe(11, 0), PsnVerdict::kResent);
  EXPECT_EQ(tracker.unseen(), 0u);
}

TEST(PsnTracker, RemembersTheLast64Packets) {
  PsnTracker inside = After({100, 164});
  EXPECT_EQ(inside.Observe(101, 0), PsnVerdict::kReordered);
  PsnTracker outside = After({99, 164});
  EXPECT_EQ(outside.Observe(100, 0), PsnVerdict::kResent);
}

TEST(PsnTracker, TakesAJumpOf65536ForAGapAndOneMoreForARestart) {
  EXPECT_EQ(After({5, 5 + 65536}).unseen(), 65535u);
  const PsnTracker tracker = After({5, 5 + 65537});
  EXPECT_EQ(tracker.unseen(), 0u);
  EXPECT_EQ(tracker.restarts(), 1u);
  EXPECT_EQ(tracker.highest(), 5u + 65537u);
}

TEST(PsnTracker, TakesAJumpBackBeyond65536ForARestart) {
  EXPECT_EQ(After({70000, 70000 - 65536}).resent(), 1u);
  EXPECT_EQ(After({70000, 70000 - 65537}).restarts(), 1u);
}

TEST(PsnTracker, DoesNotMissReservedNumbers) {
  PsnTracker tracker = After({10});
  EXPECT_EQ(tracker.Observe(14, 3), PsnVerdict::kInOrder);  // 11, 12 and 13 are responses
  EXPECT_EQ(tracker.unseen(), 0u);
}

TEST(PsnTracker, MissesWhatLiesBeyondTheReservedNumbers) {
  PsnTracker tracker = After({10});
  tracker.Observe(16, 3);
  EXPECT_EQ(tracker.unseen(), 2u);  // 14 and 15
  EXPECT_EQ(tracker.Observe(15, 0), PsnVerdict::kReordered);
  EXPECT_EQ(tracker.Observe(13, 0), PsnVerdict::kResent);  // nothing was missing there
}

TEST(PsnTracker, TakesAnyNumberOfReservedOnes) {
  PsnTracker tracker = After({10});
  tracker.Observe(10 + 60000, UINT32_MAX);
  EXPECT_EQ(tracker.unseen(), 0u);
  EXPECT_EQ(tracker.Observe(10 + 60000 - 63, 0), PsnVerdict::kResent);
}

TEST(PsnTracker, ClearsCountsAndKeepsItsPlace) {
  PsnTracker tracker = After({10, 13, 11, 10});
  tracker.ClearCounts();
  EXPECT_EQ(tracker.unseen() + tracker.resent() + tracker.reordered() + tracker.restarts(), 0u);
  EXPECT_EQ(tracker.Observe(14, 0), PsnVerdict::kInOrder);
}

// Whatever comes from a window of 64: what was skipped and did not come is unseen, each number's
// first copy is not re-sent and every further copy is.
TEST(PsnTracker, AgreesWithASetOfTheNumbersSeen) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    PsnTracker tracker;
    const uint32_t first = random() & k24BitMask;
    tracker.Observe(first, 0);
    std::set<int64_t> seen = {0};
    int64_t highest = 0;
    uint32_t resent = 0;
    for (int i = 0; i < 300; ++i) {
      const int64_t at = std::max<int64_t>(0, highest + static_cast<int64_t>(random() % 67) - 60);
      if (highest - at > 63) continue;
      if (!seen.insert(at).second) ++resent;
      highest = std::max(highest, at);
      tracker.Observe(static_cast<uint32_t>(first + at) & k24BitMask, 0);
    }
    EXPECT_EQ(tracker.resent(), resent);
    EXPECT_EQ(tracker.unseen(), static_cast<uint32_t>(highest + 1) - seen.size());
  }
}

}  // namespace
}  // namespace rocescope
