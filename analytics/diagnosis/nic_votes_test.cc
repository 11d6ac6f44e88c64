// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// Each host of leaf0 sends to a host of leaf1 and of leaf2; the first two by spine0, the others by
// spine1.
class NicVotesTest : public DiagnosisTest {
 protected:
  NicVotesTest() {
    for (uint32_t i = 0; i < 4; ++i) {
      const std::string spine = i < 2 ? "spine0" : "spine1";
      const std::string from = "host" + std::to_string(i);
      Goes({from, "leaf0", spine, "leaf1", "host" + std::to_string(4 + i)}, 10 + i);
      Goes({from, "leaf0", spine, "leaf2", "host" + std::to_string(8 + i)}, 20 + i);
    }
    // Others use the same links behind the spine.
    Goes({"host12", "leaf3", "spine0", "leaf1", "host4"}, 30);
    Goes({"host13", "leaf3", "spine0", "leaf2", "host8"}, 31);
    for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
      for (size_t w = 0; w < kWindows; ++w) {
        for (const Metric metric : {Metric::kRxBytes, Metric::kTxBytes}) {
          Grows(OfNic(nic), metric, w, 1'000'000);
        }
        for (const Metric metric : {Metric::kOutOfSequence, Metric::kPacketSequenceError}) {
          Grows(OfNic(nic), metric, w, 0);
        }
      }
    }
  }
  // The sender gets a NAK for each lost packet; the receiver counts all packets behind it.
  void Loses(const std::string& from, const std::string& to, size_t first, size_t behind,
             uint64_t packets) {
    for (size_t w = first; w < behind; ++w) {
      Grows(OfNic(NicOf(from)), Metric::kPacketSequenceError, w, packets);
      Grows(OfNic(NicOf(to)), Metric::kOutOfSequence, w, 8 * packets);
    }
  }
  void LosesOnTheLink(size_t first, size_t behind) {
    for (const std::string i : {"0", "1"}) {
      Loses("host" + i, i == "0" ? "host4" : "host5", first, behind, 3);
      Loses("host" + i, i == "0" ? "host8" : "host9", first, behind, 3);
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectLossAtNics); }
};

TEST_F(NicVotesTest, NothingIsLostWhereNoNicCountsALoss) { EXPECT_TRUE(Found().empty()); }

TEST_F(NicVotesTest, LossIsOnTheLinkThatJustTheseNicsUse) {
  LosesOnTheLink(8, kWindows);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kGrayLoss);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_EQ(found[0].basis, Basis::kVotes);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(11)) << "the loss has to last for four windows";
  EXPECT_FALSE(found[0].until);
  EXPECT_GT(found[0].confidence, 0.8);
}

// All packets that leaf1 sends to host4 are affected, but its tap saw them late: they had been lost
// before.
TEST_F(NicVotesTest, TapsExcludeTheLinksBehindThem) {
  for (const std::string from : {"host0", "host12"}) Loses(from, "host4", 8, kWindows, 3);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].place, OneWay("leaf1", "host4"));
  for (const auto& [from, qpn] : {std::pair("host0", 10u), {"host12", 30u}}) {
    const FlowKey there = Flow(from, "host4", qpn);
    const FlowKey back = Flow("host4", from, 100 + qpn);
    Connects(there, back);
    for (size_t w = 8; w < kWindows; ++w) {
      DiagnosisTest::Loses(back, w, 0, 3);
      Sees("leaf1", there, 3, 20, w);
    }
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("spine0", "leaf1"));
  for (const Suspect& rival : found[0].alternatives) {
    EXPECT_NE(rival.place, OneWay("leaf1", "host4"));
  }
}

// NICs count 24 lost packets per window.
TEST_F(NicVotesTest, LossIsDetectedInTheWindowThatReachesTheMinimumNumberOfLosses) {
  thresholds_.nic_losses = 6 * 24;
  LosesOnTheLink(8, kWindows);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].detected_at, End(13));
}

// With sFlow, not each flow is sampled. The paths to host10 and host11 can lead over the link.
TEST_F(NicVotesTest, NicsWhosePathsWereNotObservedCountAsWell) {
  Loses("host0", "host4", 8, kWindows, 3);
  Loses("host1", "host5", 8, kWindows, 3);
  Loses("host0", "host10", 8, kWindows, 3);
  Loses("host1", "host11", 8, kWindows, 3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
}

TEST_F(NicVotesTest, ItIsOverWhenNicsCountNoMore) {
  LosesOnTheLink(3, 12);
  // Single losses, as everywhere.
  Loses("host0", "host4", 18, 19, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].until, End(11));
}

// Packets are reordered when a path changes, and lost when a link goes down.
TEST_F(NicVotesTest, AMomentIsNotALossyLink) {
  LosesOnTheLink(8, 10);
  EXPECT_TRUE(Found().empty());
}

// Two changes of paths: each shows in two windows if counters are not read at window ends.
TEST_F(NicVotesTest, TwoMomentsBetweenReadingsAreNotALossyLink) {
  SetReadingDelay(kWindow / 2);
  LosesOnTheLink(6, 7);
  LosesOnTheLink(14, 15);
  EXPECT_TRUE(Found().empty());
  LosesOnTheLink(8, 14);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(NicVotesTest, OneConnectionAloneHasNoPlace) {
  Loses("host0", "host4", 8, kWindows, 9);
  EXPECT_TRUE(Found().empty());
}

TEST_F(NicVotesTest, WhatAPortCountsIsNotSilent) {
  LosesOnTheLink(8, kWindows);
  for (size_t w = 8; w < kWindows; ++w) {
    Grows(Port("spine0", "leaf0"), Metric::kFcsErrors, w, 12);
  }
  EXPECT_TRUE(Found().empty());
}

// Some healthy ports discard a foreign frame in each window.
TEST_F(NicVotesTest, HarmlessDiscardsExplainNothing) {
  LosesOnTheLink(8, kWindows);
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(Port("spine0", "leaf0"), Metric::kRxDiscards, w, 12);
  }
  EXPECT_EQ(Found().size(), 1u);
}

// In an all-to-all, a link of one leaf carries traffic from few senders to nearly all receivers.
TEST_F(NicVotesTest, OneLinkCanAffectMostReceivers) {
  for (uint32_t i = 4; i < 16; ++i) {
    const std::string to = "host" + std::to_string(i);
    for (const std::string from : {"host0", "host1"}) {
      Goes({from, "leaf0", "spine0", "leaf" + std::to_string(i / 4), to}, 100 + i);
      Loses(from, to, 8, kWindows, 3);
    }
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
}

TEST_F(NicVotesTest, LossesOfAllNicsHaveNoPlace) {
  for (uint32_t i = 0; i < 4; ++i) {
    Loses("host" + std::to_string(i), "host" + std::to_string(4 + i), 8, kWindows, 3);
    Loses("host" + std::to_string(i), "host" + std::to_string(8 + i), 8, kWindows, 3);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(NicVotesTest, ASenderAloneIsNoEvidence) {
  for (size_t w = 8; w < kWindows; ++w) {
    Grows(OfNic(NicOf("host0")), Metric::kPacketSequenceError, w, 20);
  }
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
