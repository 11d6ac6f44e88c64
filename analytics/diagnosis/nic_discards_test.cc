// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class NicDiscardsTest : public DiagnosisTest {
 protected:
  NicDiscardsTest() {
    for (size_t w = 0; w < kWindows; ++w) Carries(port_, w, 5000);
    Discards(0, kWindows - 1, 0);
  }
  void Discards(size_t first, size_t last, uint64_t packets) {
    for (size_t w = first; w <= last; ++w) Grows(nic_, Metric::kRxDiscards, w, packets);
  }
  void CountsOutOfSequence(size_t first, size_t last, uint64_t packets) {
    for (size_t w = first; w <= last; ++w) Grows(nic_, Metric::kOutOfSequence, w, packets);
  }
  Findings Found() { return DiagnosisTest::Found(DetectNicDiscards); }

  const topology::PortIndex port_ = Port("leaf0", "host1");
  const Entity nic_ = OfNic(NicOf("host1"));
};

TEST_F(NicDiscardsTest, HealthyNicsHaveNoFinding) { EXPECT_THAT(Found(), IsEmpty()); }

TEST_F(NicDiscardsTest, NicThatDiscardsPacketsOfConnectionsIsSlow) {
  Discards(8, 13, 50);
  CountsOutOfSequence(8, 13, 400);
  const Findings found = Found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, FaultKind::kSlowReceiver);
  EXPECT_EQ(found[0].place, Nic("host1"));
  EXPECT_EQ(found[0].basis, Basis::kItself);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(13));
  EXPECT_EQ(found[0].detected_at, End(10));
  EXPECT_GT(found[0].confidence, 0.9);
  EXPECT_THAT(
      found[0].evidence[0],
      HasSubstr("discarded 300 received packets in 6 windows (1 % of those that arrived), and "
                "then counted 2,400 packets out of sequence"));
}

TEST_F(NicDiscardsTest, WithoutACounterOfLossesItIsOnlySuspected) {
  Discards(4, kWindows - 1, 50);
  const Findings found = Found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_LE(found[0].confidence, 0.5);
  EXPECT_FALSE(found[0].until);
}

TEST_F(NicDiscardsTest, DiscardsWithoutLossesAreOtherProtocols) {
  Discards(4, 12, 50);
  CountsOutOfSequence(0, kWindows - 1, 0);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(NicDiscardsTest, SingleLossDoesNotConfirmDiscards) {
  Discards(4, 12, 50);
  CountsOutOfSequence(0, kWindows - 1, 0);
  CountsOutOfSequence(7, 7, 3);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(NicDiscardsTest, FewDiscardsAndSingleEventsAreNormal) {
  CountsOutOfSequence(0, kWindows - 1, 5);
  Discards(0, kWindows - 1, 2);  // less than 0.1 %
  Discards(6, 7, 500);           // two windows
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(NicDiscardsTest, NicThatPausesItsSwitchIsLeftToThatDetector) {
  Discards(8, 13, 50);
  CountsOutOfSequence(8, 13, 400);
  Grows(port_, Metric::kPfcRxTime, 10, 300'000, kRoce);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(NicDiscardsTest, ShortPausesAreNormal) {
  Discards(8, 13, 50);
  CountsOutOfSequence(8, 13, 400);
  Grows(port_, Metric::kPfcRxTime, 10, 10'000, kRoce);
  EXPECT_THAT(Found(), SizeIs(1));
}

TEST_F(NicDiscardsTest, MoreThanArrivedIsDoubtful) {
  Discards(8, 13, 1'000'000);
  CountsOutOfSequence(8, 13, 400);
  const Findings found = Found();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_LE(found[0].confidence, 0.5);
  EXPECT_THAT(found[0].evidence[0], HasSubstr("counter of the NIC is probably wrong"));
}

}  // namespace
}  // namespace rocescope
