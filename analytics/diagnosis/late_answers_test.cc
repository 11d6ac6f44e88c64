// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// From leaf1 to host5's NIC and back takes 2 us, and 3 us on average.
class LateAnswersTest : public DiagnosisTest {
 protected:
  LateAnswersTest() {
    Takes(0, kWindows - 1, {.least = 2000, .next_most = 4000}, 3000);
    for (size_t w = 0; w < kWindows; ++w) {
      Says(Port("leaf1", "host5"), Metric::kQueueWatermark, w, 0, kRoce);
    }
  }

  void Takes(size_t first, size_t last, DelayWindow told, int64_t mean, uint32_t count = 10) {
    told.count = count;
    told.sum = mean * count;
    told.most = std::max(told.most, told.next_most);
    DiagnosisTest::Takes(
        {.kind = DelayKind::kTurnaround, .from = Node("leaf1"), .to = NicOf("host5")}, first, last,
        told);
  }
  void Queues(std::string_view from, std::string_view to, uint64_t bytes) {
    for (size_t w = 8; w < 15; ++w) {
      Says(Port(from, to), Metric::kQueueWatermark, w, bytes, kRoce);
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectLateAnswers); }
};

TEST_F(LateAnswersTest, NobodyIsLateWhoAnswersAsBefore) { EXPECT_TRUE(Found().empty()); }

// The quickest takes 5 us more, and so does the mean.
TEST_F(LateAnswersTest, WhereAllTakesEquallyLongerTheLinkIsLonger) {
  Takes(8, 14, {.least = 7000, .next_most = 9000}, 8000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kAddedLatency);
  EXPECT_EQ(found[0].place, Link("leaf1", "host5"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(9));
  EXPECT_EQ(found[0].until, End(14));
  EXPECT_THAT(found[0].evidence[0], testing::HasSubstr("5.0 us longer"));
}

// The quickest takes 5 us more, and the mean 11 us: most of that waited for the host.
TEST_F(LateAnswersTest, WhereTheMeanTakesMuchLongerThanTheQuickestTheReceiverIsSlow) {
  Takes(8, 14, {.least = 7000, .next_most = 40'000}, 14'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_EQ(found[0].place, Nic("host5"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(14));
}

TEST_F(LateAnswersTest, WhereTheMeanTakesLessThanTwiceAsMuchMoreTheLinkIsLonger) {
  Takes(8, 14, {.least = 7000, .next_most = 40'000}, 12'000);  // 5 us and 9 us
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kAddedLatency);
}

// In three windows a packet was matched with the response to another one.
TEST_F(LateAnswersTest, TheTypicalDelayIsNotLongerThanAFewWrongOnes) {
  for (const size_t w : {2, 4, 6}) Takes(w, w, {.least = 400, .next_most = 4000}, 3000);
  Takes(8, 9, {.least = 2300, .next_most = 2400}, 2350);
  EXPECT_TRUE(Found().empty());
  Takes(8, 10, {.least = 7000, .next_most = 9000}, 8000);
  EXPECT_EQ(Found().size(), 1u);
}

// Where no queue is reported, packets that are late by 60 us and by 5 us wait in one.
TEST_F(LateAnswersTest, ALinkIsNotSometimesLongerAndSometimesShorter) {
  FallsSilent(EntityOf(Port("leaf1", "host5"), kRoce), 8);
  Takes(8, 8, {.least = 63'000, .next_most = 170'000}, 124'000);
  Takes(9, 9, {.least = 7000, .next_most = 73'000}, 38'000);
  EXPECT_TRUE(Found().empty());
  Takes(9, 9, {.least = 50'000, .next_most = 73'000}, 60'000);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(LateAnswersTest, WhereOnlySomeAreLateTheReceiverIsSlow) {
  Takes(8, kWindows - 1, {.least = 2000, .next_most = 30'000}, 9000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_EQ(found[0].place, Nic("host5"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(10));
  EXPECT_FALSE(found[0].until);
  EXPECT_LT(found[0].confidence, 0.95) << "than of what delays even the quickest";
}

// The host's CPU is occasionally busy; windows 10 to 12 are adjacent by chance.
TEST_F(LateAnswersTest, AHostThatIsOccasionallyLateIsNoSlowReceiver) {
  const DelayWindow late = {.least = 2000, .next_most = 30'000};
  Takes(10, 12, late, 9000);
  EXPECT_EQ(Found().size(), 1u);
  for (const size_t w : {1, 4, 7}) Takes(w, w, late, 9000);
  EXPECT_TRUE(Found().empty());
  Takes(10, 16, late, 9000);
  EXPECT_EQ(Found().size(), 1u) << "for seven windows in a row";
}

// The machine that receives the mirrored frames was busy in windows 8 to 14.
TEST_F(LateAnswersTest, ADelayThatMostHostsShareIsSubtracted) {
  const auto takes = [&](std::string_view leaf, std::string_view host, int64_t most) {
    for (size_t w = 0; w < kWindows; ++w) {
      Says(Port(leaf, host), Metric::kQueueWatermark, w, 0, kRoce);
    }
    const DelayKey key = {.kind = DelayKind::kTurnaround, .from = Node(leaf), .to = NicOf(host)};
    DelayWindow usual = {.least = 2000, .most = 4000, .next_most = 4000, .count = 10};
    usual.sum = 30'000;
    DelayWindow late = {.least = 2000, .most = most, .next_most = most, .count = 10};
    late.sum = 90'000;
    DiagnosisTest::Takes(key, 0, kWindows - 1, usual);
    DiagnosisTest::Takes(key, 8, 14, late);
  };
  Takes(8, 14, {.least = 2000, .next_most = 30'000}, 9000);  // host5
  EXPECT_EQ(Found().size(), 1u);
  takes("leaf0", "host0", 30'000);
  takes("leaf0", "host1", 30'000);
  EXPECT_EQ(Found().size(), 3u) << "three hosts are too few to know what is usual";
  takes("leaf0", "host2", 30'000);
  takes("leaf1", "host4", 60'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Nic("host4"));
}

// One that was sent again is answered late by the first one's time; two in a window are not.
// The packet may have waited in the queue, or been paused, for any time.
// Only window 9 lies within the fault. Its fastest packet takes 15 us more, and the mean 25 us.
TEST_F(LateAnswersTest, ALinkThatIsLongerForOneFullWindowIsNoSlowReceiver) {
  Takes(8, 8, {.least = 2000, .next_most = 33'000}, 16'000);
  Takes(9, 9, {.least = 17'000, .next_most = 39'000}, 28'000);
  Takes(10, 10, {.least = 2000, .next_most = 51'000}, 34'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kAddedLatency);
  EXPECT_EQ(found[0].place, Link("leaf1", "host5"));
  EXPECT_EQ(found[0].from, Begin(8));
}

// The fastest packet takes 8 us more, and the mean 25 us.
TEST_F(LateAnswersTest, AWindowWithoutFastAnswersCanBeThatOfASlowReceiver) {
  Takes(8, 8, {.least = 2000, .next_most = 33'000}, 16'000);
  Takes(9, 9, {.least = 10'000, .next_most = 39'000}, 28'000);
  Takes(10, 10, {.least = 2000, .next_most = 51'000}, 34'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
}

// All packets of windows 9 and 11 are late, but window 10 has fast ones: the queue emptied.
TEST_F(LateAnswersTest, AFastAnswerBetweenLateWindowsExcludesALongerLink) {
  Takes(8, 8, {.least = 2000, .next_most = 79'000}, 35'000);
  Takes(9, 9, {.least = 78'000, .next_most = 79'000}, 78'500);
  Takes(10, 10, {.least = 2000, .next_most = 79'000}, 35'000);
  Takes(11, 11, {.least = 78'000, .next_most = 79'000}, 78'500);
  Takes(12, 12, {.least = 2000, .next_most = 79'000}, 35'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_EQ(found[0].place, Nic("host5"));
}

TEST_F(LateAnswersTest, WhereNobodyReadsTheQueueNobodyIsSlow) {
  NeverTells(EntityOf(Port("leaf1", "host5"), kRoce), Metric::kQueueWatermark);
  Takes(8, 14, {.least = 2000, .next_most = 40'000}, 14'000);
  EXPECT_TRUE(Found().empty());
  Takes(8, 14, {.least = 7000, .next_most = 40'000}, 14'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kAddedLatency);
}

TEST_F(LateAnswersTest, WindowsThatNobodyReadSayNothing) {
  FallsSilent(EntityOf(Port("leaf1", "host5"), kRoce), 8);
  Takes(8, 14, {.least = 2000, .next_most = 40'000}, 14'000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, ARetransmissionAWindowMakesNobodySlow) {
  Takes(8, 14, {.least = 2000, .most = 800'000, .next_most = 4000}, 80'000);
  EXPECT_TRUE(Found().empty());
}

// 125,000 bytes at 100 Gb/s take 10 us.
TEST_F(LateAnswersTest, AQueueBeforeTheNicExplainsLateAnswers) {
  Takes(8, 14, {.least = 2000, .next_most = 14'000}, 9000);
  EXPECT_EQ(Found().size(), 1u);
  Queues("leaf1", "host5", 125'000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, AQueueThatEvenTheQuickestWaitsInIsNoLongerLink) {
  Takes(8, 14, {.least = 12'000, .next_most = 14'000}, 13'000);
  EXPECT_EQ(Found().size(), 1u);
  Queues("leaf1", "host5", 125'000);
  EXPECT_TRUE(Found().empty());
}

// On a link that is busy all the time, a queue may never empty.
TEST_F(LateAnswersTest, AQueueThatPersistsIsNoLongerLink) {
  Takes(8, 14, {.least = 12'000, .next_most = 107'500}, 50'000);
  Queues("leaf1", "host5", 1'250'000);
  EXPECT_EQ(Found().size(), 1u) << "a queue of a moment";
  for (size_t w = 8; w < 15; ++w) {
    Carries(Port("leaf1", "host5"), w, kWindow.count() * 12 / 1000);  // 96 % of 100 Gb/s
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, ASwitchThatHoldsTheNicExplainsLateAnswers) {
  Takes(8, 14, {.least = 2000, .next_most = 14'000}, 9000);
  for (size_t w = 8; w < 15; ++w) {
    Grows(Port("leaf1", "host5"), Metric::kPfcTxTime, w, 10'000, kRoce);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, WhatAFullFrameOnASlowLinkTakesIsNotLate) {
  Takes(8, 14, {.least = 2000, .next_most = 7000}, 4000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, OneLateWindowIsNothing) {
  Takes(8, 8, {.least = 2000, .next_most = 30'000}, 9000);
  EXPECT_TRUE(Found().empty());
}

// A busy CPU delays all responses for a short time, which can extend into the next window.
TEST_F(LateAnswersTest, TwoLateWindowsCanBeOneMoment) {
  Takes(8, 9, {.least = 2000, .next_most = 30'000}, 9000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, LateWindowsFarFromEachOtherAreAccidents) {
  Takes(4, 4, {.least = 2000, .next_most = 30'000}, 9000);
  Takes(8, 8, {.least = 2000, .next_most = 30'000}, 9000);
  Takes(12, 12, {.least = 2000, .next_most = 30'000}, 9000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, ALateWindowFarAwayIsNotTheBeginning) {
  Takes(2, 2, {.least = 2000, .next_most = 30'000}, 9000);
  Takes(10, 14, {.least = 2000, .next_most = 30'000}, 9000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(10));
  EXPECT_EQ(found[0].detected_at, End(12));
}

// Four in a row, and one long after: less than half of the windows between.
TEST_F(LateAnswersTest, WhoIsLateNowAndThenOnlyIsNotSlow) {
  Takes(2, 5, {.least = 2000, .next_most = 30'000}, 9000);
  EXPECT_EQ(Found().size(), 1u);
  Takes(17, 17, {.least = 2000, .next_most = 30'000}, 9000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateAnswersTest, FourPacketsAreTooFew) {
  Takes(8, 9, {.least = 2000, .next_most = 30'000}, 9000, 1);
  Takes(10, 10, {.least = 2000, .next_most = 30'000}, 9000, 2);
  EXPECT_TRUE(Found().empty());
  Takes(10, 10, {.least = 2000, .next_most = 30'000}, 9000, 3);
  EXPECT_EQ(Found().size(), 1u);
}

}  // namespace
}  // namespace rocescope
