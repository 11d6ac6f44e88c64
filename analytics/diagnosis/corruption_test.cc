// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// spine0 leads to host8, host9 and host12, spine1 to host10 and host13; half comes from leaf0,
// half from leaf1.
class CorruptionTest : public DiagnosisTest {
 protected:
  CorruptionTest() {
    Goes({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
    Goes({"host4", "leaf1", "spine0", "leaf2", "host9"}, 2);
    Goes({"host1", "leaf0", "spine0", "leaf3", "host12"}, 3);
    Goes({"host5", "leaf1", "spine1", "leaf2", "host10"}, 4);
    Goes({"host2", "leaf0", "spine1", "leaf3", "host13"}, 5);
  }
  void Damaged(std::string_view host, size_t window, uint64_t packets) {
    Grows(OfNic(NicOf(host)), Metric::kIcrcErrors, window, packets);
  }
  Findings Found() { return DiagnosisTest::Found(DetectCorruption); }
};

TEST_F(CorruptionTest, IsAtTheSwitchThatAllWhoAreHitHaveInCommon) {
  for (const char* host : {"host8", "host9", "host12"}) {
    for (size_t w = 8; w < 11; ++w) Damaged(host, w, 2);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kCorruption);
  EXPECT_EQ(found[0].place, Switch("spine0"));
  EXPECT_NEAR(found[0].confidence, 0.9, 1e-3) << "somebody else may be to blame";
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(8)) << "the fifth packet was there";
  EXPECT_EQ(found[0].until, End(10));
}

TEST_F(CorruptionTest, UsesEarlierPathsIfNoFlowWasSampledMeanwhile) {
  for (FlowPath& path : paths_) {
    path.intervals[0].until = End(4);
    // Sampled again after the damage, on another path.
    path.intervals.push_back(path.intervals[0]);
    path.intervals[1].from = Begin(15);
    path.intervals[1].until = End(18);
    path.intervals[1].certain = {Port("leaf3", "spine1")};
  }
  for (const char* host : {"host8", "host9", "host12"}) {
    for (size_t w = 8; w < 11; ++w) Damaged(host, w, 2);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Switch("spine0"));
}

// The increase of host12 between its readings in windows 2 and 9 is divided between them.
TEST_F(CorruptionTest, BeginsWhereMostNicsAreHit) {
  SetReadingDelay(kWindow / 4);
  for (const char* host : {"host8", "host9", "host12"}) {
    Damaged(host, 0, 0);
    for (size_t w = 8; w < 14; ++w) Damaged(host, w, 1000);
  }
  SkipsReadings(OfNic(NicOf("host12")), 3, 8);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(8));
}

// leaf2 and spine0 led there, with the same traffic.
TEST_F(CorruptionTest, SwitchesThatCannotBeToldApartAreRivals) {
  paths_.clear();
  Goes({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
  Goes({"host4", "leaf1", "spine0", "leaf2", "host9"}, 2);
  Damaged("host8", 8, 10);
  Damaged("host9", 8, 10);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_NEAR(found[0].confidence, 0.45, 1e-6);
  EXPECT_NEAR(found[0].alternatives[0].probability, 0.45, 1e-6);
}

// The NIC received a third of the packets that leaf2 and spine0 forwarded; others received none.
TEST_F(CorruptionTest, WhereOneNicAloneIsHurtItIsTheNic) {
  Damaged("host8", 8, 10);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kCorruption);
  EXPECT_EQ(found[0].place, Nic("host8"));
  EXPECT_NEAR(found[0].confidence, 0.9, 1e-3);
}

// Nobody else's packets went by its switches: it may be any of them.
TEST_F(CorruptionTest, ANicAndTheSwitchesThatLeadToItAloneAreRivals) {
  paths_.clear();
  Goes({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
  Damaged("host8", 8, 10);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].confidence, 0.9 / 4, 1e-6);
  ASSERT_EQ(found[0].alternatives.size(), 3u);
  EXPECT_EQ(found[0].alternatives[2].place, Nic("host8"));
  EXPECT_EQ(found[0].further.size(), 1u);
}

TEST_F(CorruptionTest, AHandfulOfPacketsIsTooFew) {
  Damaged("host8", 8, 2);
  Damaged("host9", 9, 2);
  EXPECT_TRUE(Found().empty());
}

TEST_F(CorruptionTest, WithoutPathsNobodyIsBlamed) {
  paths_.clear();
  Damaged("host8", 8, 20);
  EXPECT_TRUE(Found().empty());
}

// Two of leaf2's three NICs receive nearly nothing, and the others receive no damaged packet.
TEST_F(CorruptionTest, SwitchThatDamagesOnlyFewOfItsPacketsIsSuspected) {
  Goes({"host3", "leaf0", "spine0", "leaf2", "host11"}, 6);
  Goes({"host6", "leaf1", "spine1", "leaf2", "host11"}, 7);
  paths_.back().intervals[0].bytes *= 100;
  for (const char* host : {"host8", "host9", "host10"}) {
    for (size_t w = 8; w < 11; ++w) Damaged(host, w, 200);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Switch("leaf2"));
  EXPECT_EQ(found[0].confidence, kContradicted);
}

}  // namespace
}  // namespace rocescope
