// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/psn_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>

#include "dataplane/flow/gap_store.h"

namespace rocescope {
namespace {

// A tracker with a memory of its own.
class Tracked {
 public:
  PsnResult Observe(uint32_t psn, uint32_t reserved) {
    return tracker_.Observe(psn, reserved, GapStore::Of(gaps_, 5));
  }
  PsnTracker* operator->() { return &tracker_; }
  int32_t missing() const { return tracker_.missing(); }
  uint32_t retransmitted() const { return tracker_.retransmitted(); }
  uint32_t reordered() const { return tracker_.reordered(); }
  uint32_t restarts() const { return tracker_.restarts(); }
  uint32_t highest() const { return tracker_.highest(); }
  void ClearCounts() { tracker_.ClearCounts(); }

 private:
  PsnTracker tracker_;
  GapStore gaps_;
};

Tracked After(std::initializer_list<uint32_t> psns) {
  Tracked tracker;
  for (const uint32_t psn : psns) tracker.Observe(psn, 0);
  return tracker;
}

TEST(PsnTracker, KnowsNothingBeforeTheFirstPacket) { EXPECT_FALSE(PsnTracker().valid()); }

TEST(PsnTracker, BeginsWithWhateverComesFirst) {
  Tracked tracker;
  EXPECT_EQ(tracker.Observe(4711, 0), PsnResult::kFirst);
  EXPECT_EQ(tracker.highest(), 4711u);
  EXPECT_EQ(tracker.missing(), 0);
}

TEST(PsnTracker, WrapsFromTheLast24BitNumberToZero) {
  Tracked tracker = After({0xfffffe, 0xffffff});
  EXPECT_EQ(tracker.Observe(0, 0), PsnResult::kInOrder);
  EXPECT_EQ(tracker.highest(), 0u);
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.restarts(), 0u);
}

TEST(PsnTracker, CountsAGapAcrossTheWrap) {
  EXPECT_EQ(After({0xfffffe, 2}).missing(), 3);  // ffffff, 0, 1
}

TEST(PsnTracker, CountsWhatAGapLeftOut) { EXPECT_EQ(After({10, 15}).missing(), 4); }

TEST(PsnTracker, TakesAnUnseenPacketBackWhenItComesLate) {
  Tracked tracker = After({10, 13});
  EXPECT_EQ(tracker.Observe(11, 0), PsnResult::kReordered);
  EXPECT_EQ(tracker.missing(), 1);
  EXPECT_EQ(tracker.reordered(), 1u);
  EXPECT_EQ(tracker.retransmitted(), 0u);
  EXPECT_EQ(tracker.highest(), 13u);
}

TEST(PsnTracker, CallsThePacketSeenTwiceResent) {
  Tracked tracker = After({10, 11, 12});
  EXPECT_EQ(tracker.Observe(11, 0), PsnResult::kRetransmitted);
  EXPECT_EQ(tracker.Observe(12, 0), PsnResult::kRetransmitted);
  EXPECT_EQ(tracker.retransmitted(), 2u);
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.reordered(), 0u);
}

TEST(PsnTracker, CallsALatePacketResentWhenItComesAgain) {
  Tracked tracker = After({10, 12, 11});
  EXPECT_EQ(tracker.Observe(11, 0), PsnResult::kRetransmitted);
  EXPECT_EQ(tracker.missing(), 0);
}

// 64 is where the window ends and the gap memory begins.
TEST(PsnTracker, FillsAGapHoweverFarBackItLies) {
  for (const uint32_t distance : {62u, 63u, 64u, 65u, 200u, 65000u}) {
    Tracked tracker = After({100, 102});
    for (uint32_t psn = 103; psn <= 101 + distance; ++psn) tracker.Observe(psn, 0);
    EXPECT_EQ(tracker.Observe(101, 0), PsnResult::kReordered) << distance;
    EXPECT_EQ(tracker.Observe(101, 0), PsnResult::kRetransmitted) << distance;
    EXPECT_EQ(tracker.Observe(100, 0), PsnResult::kRetransmitted) << distance;
    EXPECT_EQ(tracker.missing(), 0) << distance;
  }
}

// One packet of 120 in flight is lost before the tap: the sender goes back and sends all again.
TEST(PsnTracker, CountsGoBackNBeyondTheWindow) {
  Tracked tracker = After({100});
  for (uint32_t psn = 102; psn <= 221; ++psn) tracker.Observe(psn, 0);
  for (uint32_t psn = 101; psn <= 221; ++psn) tracker.Observe(psn, 0);
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.reordered(), 1u);
  EXPECT_EQ(tracker.retransmitted(), 120u);
}

TEST(PsnTracker, FillsALargeGapInAnyOrder) {
  Tracked tracker = After({0, 1000});
  for (const uint32_t psn : {500u, 1u, 900u, 999u, 2u, 501u}) {
    EXPECT_EQ(tracker.Observe(psn, 0), PsnResult::kReordered) << psn;
    EXPECT_EQ(tracker.Observe(psn, 0), PsnResult::kRetransmitted) << psn;
  }
  EXPECT_EQ(tracker.missing(), 999 - 6);
}

TEST(PsnTracker, FillsAnOlderIntervalsGapWithANegativeCount) {
  Tracked tracker = After({10, 12});
  tracker.ClearCounts();
  tracker.Observe(11, 0);
  EXPECT_EQ(tracker.missing(), -1);
}

TEST(PsnTracker, OwesNothingForAPacketFromBeforeTheFirst) {
  Tracked tracker = After({10, 12});
  EXPECT_EQ(tracker.Observe(9, 0), PsnResult::kReordered);
  EXPECT_EQ(tracker.missing(), 1);  // 11
}

TEST(PsnTracker, ReservesMoreThanAnyGap) {
  Tracked tracker = After({10});
  // A READ of 1 GiB at an MTU of 4096 octets.
  EXPECT_EQ(tracker.Observe(10 + 262144, 262143), PsnResult::kInOrder);
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.restarts(), 0u);
}

TEST(PsnTracker, TakesAJumpOf65536ForAGapAndOneMoreForARestart) {
  EXPECT_EQ(After({5, 5 + 65536}).missing(), 65535);
  const Tracked tracker = After({5, 5 + 65537});
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.restarts(), 1u);
  EXPECT_EQ(tracker.highest(), 5u + 65537u);
}

TEST(PsnTracker, TakesAJumpBackBeyond65536ForARestart) {
  EXPECT_EQ(After({70000, 70000 - 65536}).retransmitted(), 1u);
  EXPECT_EQ(After({70000, 70000 - 65537}).restarts(), 1u);
}

TEST(PsnTracker, DoesNotMissReservedNumbers) {
  Tracked tracker = After({10});
  EXPECT_EQ(tracker.Observe(14, 3), PsnResult::kInOrder);  // 11, 12 and 13 are responses
  EXPECT_EQ(tracker.missing(), 0);
}

TEST(PsnTracker, MissesWhatLiesBeyondTheReservedNumbers) {
  Tracked tracker = After({10});
  tracker.Observe(16, 3);
  EXPECT_EQ(tracker.missing(), 2);  // 14 and 15
  EXPECT_EQ(tracker.Observe(15, 0), PsnResult::kReordered);
  EXPECT_EQ(tracker.Observe(13, 0), PsnResult::kRetransmitted);  // nothing was missing there
}

TEST(PsnTracker, TakesAnyNumberOfReservedOnes) {
  Tracked tracker = After({10});
  tracker.Observe(10 + 60000, UINT32_MAX);
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.Observe(10 + 60000 - 63, 0), PsnResult::kRetransmitted);
}

TEST(PsnTracker, ClearsCountsAndKeepsItsPlace) {
  Tracked tracker = After({10, 13, 11, 10});
  tracker.ClearCounts();
  EXPECT_EQ(tracker.missing(), 0);
  EXPECT_EQ(tracker.retransmitted() + tracker.reordered() + tracker.restarts(), 0u);
  EXPECT_EQ(tracker.Observe(14, 0), PsnResult::kInOrder);
}

// What was skipped and did not come is unseen, each number's first copy is not re-sent and every
// further copy is, as far as seven open gaps reach.
TEST(PsnTracker, AgreesWithASetOfTheNumbersSeen) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Tracked tracker;
    const uint32_t first = random() & k24BitMask;
    tracker.Observe(first, 0);
    std::set<int64_t> seen = {0};
    int64_t highest = 0;
    uint32_t retransmitted = 0;
    for (int i = 0; i < 300; ++i) {
      const int64_t at = std::max<int64_t>(0, highest + static_cast<int64_t>(random() % 67) - 60);
      if (highest - at > 63) continue;
      if (!seen.insert(at).second) ++retransmitted;
      highest = std::max(highest, at);
      tracker.Observe(static_cast<uint32_t>(first + at) & k24BitMask, 0);
    }
    EXPECT_EQ(tracker.retransmitted(), retransmitted);
    EXPECT_EQ(tracker.missing(), static_cast<int64_t>(highest + 1 - seen.size()));
  }
}

// A lossy link in front of the tap and a sender that goes back up to 500 packets to the first lost
// one: the tap knows each first copy.
TEST(PsnTracker, AgreesWithGoBackNOverALossyLink) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Tracked tracker;
    const uint32_t first = random() & k24BitMask;
    std::set<uint32_t> seen;
    uint32_t retransmitted = 0;
    const auto send = [&](uint32_t at) {
      if (!seen.insert(at).second) ++retransmitted;
      tracker.Observe((first + at) & k24BitMask, 0);
    };
    send(0);
    uint32_t next = 1;
    while (next < 20'000) {
      const uint32_t flight = 1 + random() % 500;
      const uint32_t lost = random() % 4 == 0 ? random() % flight : flight;
      for (uint32_t i = 0; i < flight; ++i) {
        if (i != lost) send(next + i);
      }
      next += lost;  // flight, if nothing was lost
    }
    send(next);
    EXPECT_EQ(tracker.retransmitted(), retransmitted);
    EXPECT_EQ(tracker.missing(), 0);
  }
}

}  // namespace
}  // namespace rocescope
