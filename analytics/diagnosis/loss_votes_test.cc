// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

// Four flows with the same traffic; what the first two have in common, and nobody else, is the
// link from leaf0 to spine0. Each of leaf0 and spine0 has passed a third one, too.
class LossVotesTest : public DiagnosisTest {
 protected:
  LossVotesTest() {
    Flows({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
    Flows({"host1", "leaf0", "spine0", "leaf3", "host12"}, 2);
    Flows({"host2", "leaf0", "spine1", "leaf2", "host9"}, 3);
    Flows({"host4", "leaf1", "spine0", "leaf3", "host13"}, 4);
  }
  void Flows(const std::vector<std::string>& nodes, uint32_t qpn) {
    Goes(nodes, qpn);
    const FlowKey there = Flow(nodes.front(), nodes.back(), qpn);
    const FlowKey back = Flow(nodes.back(), nodes.front(), 100 + qpn);
    // The order of a connection's ends does not say which of them sends.
    if (qpn % 2 == 0) {
      Connects(there, back);
    } else {
      Connects(back, there);
    }
  }
  // The receiver of the flow refuses so many packets of it.
  void Refuses(std::string_view from, std::string_view to, uint32_t qpn, size_t window,
               uint32_t packets) {
    Loses(Flow(to, from, 100 + qpn), window, 0, packets);
  }
  void RefusesOfBoth(size_t window, uint32_t packets) {
    Refuses("host0", "host8", 1, window, packets);
    Refuses("host1", "host12", 2, window, packets);
  }
  // Nobody could have counted what was lost on the link.
  void DoesNotCount(std::string_view from, std::string_view to) {
    NeverTells(EntityOf(Port(from, to)), Metric::kTxPackets);
    Grows(fabric_.Peer(Port(from, to)), Metric::kFcsErrors, 0, 0);
  }
  // The receiver does not even say what came damaged.
  void SaysNothing(std::string_view from, std::string_view to) {
    NeverTells(EntityOf(Port(from, to)), Metric::kTxPackets);
  }
  Findings Found() { return DiagnosisTest::Found(DetectUncountedLoss); }
};

TEST_F(LossVotesTest, NobodyIsToBlameWhereNothingIsRefused) { EXPECT_TRUE(Found().empty()); }

// Six affected flows: each is half of the traffic of the link and a third of that of each switch.
TEST_F(LossVotesTest, AnUncountedLinkThatOnlyTheHurtOnesTakeIsLikeliest) {
  DoesNotCount("leaf0", "spine0");
  for (size_t w = 8; w < 11; ++w) RefusesOfBoth(w, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kGrayLoss);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_EQ(found[0].basis, Basis::kVotes);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(10)) << "the fifth came in the third window";
  EXPECT_EQ(found[0].until, End(10));
  const double odds = std::pow(2.0 / 3, 6);  // the odds are those of a switch against the link
  EXPECT_NEAR(found[0].confidence, 0.9 / (1 + 2 * odds), 1e-3);
  ASSERT_EQ(found[0].alternatives.size(), 2u);
  for (const Suspect& rival : found[0].alternatives) {
    EXPECT_EQ(rival.kind, FaultKind::kCorruption);
    EXPECT_THAT(rival.place, testing::AnyOf(Switch("leaf0"), Switch("spine0")));
    EXPECT_NEAR(rival.probability, 0.9 * odds / (1 + 2 * odds), 1e-3);
  }
}

// Both ends of the link count, and agree: that leaves the switches, which are alike.
TEST_F(LossVotesTest, ALinkWhoseCountersProveThatItLostNothingIsNone) {
  RefusesOfBoth(8, 5);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kCorruption);
  EXPECT_NEAR(found[0].confidence, 0.45, 1e-3);
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_EQ(found[0].alternatives[0].kind, FaultKind::kCorruption);
}

// Both explain it as well: what is damaged on a link is the usual, what vanishes there the rare.
TEST_F(LossVotesTest, WhereDamageIsNotToldABadCableIsLikelierThanSilentLoss) {
  SaysNothing("leaf0", "spine0");
  RefusesOfBoth(8, 30);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBitErrors);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_NEAR(found[0].confidence, 0.9 * 2 / 3, 1e-6);
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_EQ(found[0].alternatives[0].kind, FaultKind::kGrayLoss);
  EXPECT_NEAR(found[0].alternatives[0].probability, 0.9 / 3, 1e-6);
}

// Only one flow was affected: by the votes, each place on its path may be the cause.
TEST_F(LossVotesTest, TapsSayBetweenWhichSwitchesThePacketsWereLost) {
  const std::vector<std::string> way = {"host0", "leaf0", "spine0", "leaf2", "host8"};
  for (size_t i = 0; i + 1 < way.size(); ++i) DoesNotCount(way[i], way[i + 1]);
  Refuses("host0", "host8", 1, 8, 10);
  ASSERT_GT(Found()[0].alternatives.size(), 1u);
  const FlowKey flow = Flow("host0", "host8", 1);
  Sees("leaf0", flow, 0, 100);
  Sees("spine0", flow, 0, 100);
  Sees("leaf2", flow, 10, 90);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kGrayLoss);
  EXPECT_EQ(found[0].place, OneWay("spine0", "leaf2"));
  EXPECT_TRUE(found[0].alternatives.empty()) << "a damaged packet would have come by leaf2";
}

// The flow is half of leaf2's traffic and a third of the other switches' traffic.
TEST_F(LossVotesTest, WhatCameByAllTapsWasLostBehindThemOrDamagedAnywhere) {
  const std::vector<std::string> way = {"host0", "leaf0", "spine0", "leaf2", "host8"};
  for (size_t i = 0; i + 1 < way.size(); ++i) DoesNotCount(way[i], way[i + 1]);
  Refuses("host0", "host8", 1, 8, 5);
  for (const char* node : {"leaf0", "spine0", "leaf2"}) {
    Sees(node, Flow("host0", "host8", 1), 0, 50);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf2", "host8"));
  const double sum = 1 + std::pow(0.5, 5) + 2 * std::pow(1.0 / 3, 5);
  EXPECT_NEAR(found[0].confidence, 0.9 / sum, 1e-2);
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_EQ(found[0].alternatives[0].place, Switch("leaf2"));
}

// What taps saw long before the packets were lost is not about them.
TEST_F(LossVotesTest, WhatTapsSawBeforeTheWindowsThatAreLookedAtSaysNothing) {
  const std::vector<std::string> way = {"host0", "leaf0", "spine0", "leaf2", "host8"};
  for (size_t i = 0; i + 1 < way.size(); ++i) DoesNotCount(way[i], way[i + 1]);
  Refuses("host0", "host8", 1, 8, 10);
  const Findings before = Found();
  Sees("leaf0", Flow("host0", "host8", 1), 0, 100);
  Sees("spine0", Flow("host0", "host8", 1), 10, 90);
  EXPECT_EQ(Found()[0].place, OneWay("leaf0", "spine0"));
  for (FlowRecord& record : lossy_) {
    if (record.requests.retransmitted > 0) record.interval_start -= kWindow;
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, before[0].confidence);
}

TEST_F(LossVotesTest, TapsThatContradictEachOtherSayNothing) {
  DoesNotCount("leaf0", "spine0");
  RefusesOfBoth(8, 5);
  const Findings before = Found();
  Sees("leaf0", Flow("host0", "host8", 1), 9, 90);
  Sees("spine0", Flow("host0", "host8", 1), 0, 90);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, before[0].place);
  EXPECT_EQ(found[0].confidence, before[0].confidence);
}

TEST_F(LossVotesTest, TheSwitchThatAllWhoAreHurtHaveInCommonIsLikeliest) {
  RefusesOfBoth(8, 3);
  Refuses("host4", "host13", 4, 8, 3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kCorruption);
  EXPECT_EQ(found[0].place, Switch("spine0"));
  EXPECT_NEAR(found[0].confidence, 0.9, 1e-3);
  EXPECT_EQ(found[0].detected_at, End(8));
}

// A flow counts with what it sent while packets were lost: before, two more took the link.
TEST_F(LossVotesTest, OnlyWhoWasThereAtTheTimeSpeaksForAPlace) {
  DoesNotCount("leaf0", "spine0");
  for (const uint32_t qpn : {5, 6}) {
    Goes({"host3", "leaf0", "spine0", "leaf1", "host5"}, qpn, 0, 6);
  }
  RefusesOfBoth(8, 3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine0"));
  EXPECT_NEAR(found[0].confidence, 0.9 / (1 + 2 * std::pow(2.0 / 3, 6)), 1e-3);
}

TEST_F(LossVotesTest, LossThatGoesOnHasNoEnd) {
  for (size_t w = 8; w < kWindows; ++w) RefusesOfBoth(w, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].until);
  EXPECT_EQ(found[0].detected_at, End(10));
}

TEST_F(LossVotesTest, FourAreTooFew) {
  RefusesOfBoth(8, 2);
  EXPECT_TRUE(Found().empty());
  Refuses("host0", "host8", 1, 9, 1);
  EXPECT_EQ(Found().size(), 1u);
}

// A time-out sends again what may have come all the same.
TEST_F(LossVotesTest, WhatWasSentAgainAndNotRefusedIsNoVote) {
  Loses(Flow("host0", "host8", 1), 4, 50, 0);
  Loses(Flow("host8", "host0", 101), 4, 50, 0);
  EXPECT_TRUE(Found().empty());
  RefusesOfBoth(8, 4);
  Loses(Flow("host8", "host0", 101), 9, 50, 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_THAT(found[0].evidence[0], testing::HasSubstr("of 2 flows 9 times"));
}

// NAKs report losses of the opposite direction, and no connection says here which flow that is.
TEST_F(LossVotesTest, WithoutConnectionsThereAreNoVotes) {
  connections_.clear();
  RefusesOfBoth(8, 5);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LossVotesTest, WithoutPathsNobodyIsBlamed) {
  paths_.clear();
  RefusesOfBoth(8, 5);
  EXPECT_TRUE(Found().empty());
}

// Their counts say where it was without any votes.
TEST_F(LossVotesTest, WhereNicsTellOfDamagedPacketsNobodyVotes) {
  RefusesOfBoth(8, 5);
  EXPECT_EQ(Found().size(), 1u);
  Grows(OfNic(NicOf("host9")), Metric::kIcrcErrors, 0, 0);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
