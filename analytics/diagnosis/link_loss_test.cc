// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>

#include "analytics/diagnosis/diagnosis_fixture.h"
#include "analytics/diagnosis/loss_signs.h"

namespace rocescope {
namespace {

// Every link carries 1000 frames of 1000 bytes per window and direction: 8 % of its capacity.
class LinkLossTest : public DiagnosisTest {
 protected:
  LinkLossTest() {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      for (size_t w = 0; w < kWindows; ++w) Carries(port, w, 1000);
    }
  }
  void Loses(topology::PortIndex sender, size_t window, uint64_t frames) {
    Carries(sender, window, frames, frames);
  }
  Findings Found() { return DiagnosisTest::Found(DetectLinkLoss); }
};

TEST_F(LinkLossTest, NothingIsMissingWhereEverythingArrives) { EXPECT_TRUE(Found().empty()); }

// At 100 Gb/s and 1 us, at most 12.5 frames of 1000 bytes are in flight: 20 are impossible.
TEST_F(LinkLossTest, FramesThatNeverComeAreGrayLossInTheirDirection) {
  Loses(Port("leaf0", "spine1"), 8, 20);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kGrayLoss);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine1"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(8));
  EXPECT_GE(found[0].detected_at, End(8));
}

// In 12,500 bytes, up to 200 short frames are in flight: 20 at each of the last readings are
// possible.
TEST_F(LinkLossTest, ShortFramesInFlightAreNotLost) {
  const topology::PortIndex sender = Port("leaf0", "spine1");
  Carries(sender, kWindows - 3, 20, 20, 100);
  EXPECT_TRUE(Found().empty());
  Carries(sender, kWindows - 3, 20, 20, 1000);
  EXPECT_EQ(Found().size(), 1u) << "too many bytes";
}

// Most devices are read at different times, so that these two are by chance.
TEST_F(LinkLossTest, EqualReadingTimesByChanceProveNothing) {
  Loses(Port("leaf0", "spine1"), 8, 20);
  ASSERT_EQ(Found().size(), 1u);
  for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
    FallsSilent(OfNic(nic), kWindows - 1);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, WithoutErrorCountersTheFramesMayBeDamaged) {
  Loses(Port("leaf0", "spine1"), 8, 20);
  ASSERT_EQ(Found().size(), 1u);
  ASSERT_EQ(Found()[0].alternatives.size(), 1u);
  EXPECT_EQ(Found()[0].alternatives[0].kind, FaultKind::kBitErrors);
  EXPECT_LT(Found()[0].confidence, 0.7);
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(EntityOf(Port("spine1", "leaf0")), Metric::kRxErrors, w, 0);
  }
  EXPECT_TRUE(Found()[0].alternatives.empty());
  EXPECT_GT(Found()[0].confidence, 0.9);
  Grows(EntityOf(Port("spine1", "leaf0")), Metric::kRxErrors, 8, 20);
  EXPECT_TRUE(Found().empty()) << "errors are not lost silently";
}

TEST_F(LinkLossTest, NicsShowWhenALossBegan) {
  const Entity nic = OfNic(NicOf("host0"));
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(nic, Metric::kPacketSequenceError, w, w == 4 ? 1 : w < 12 ? 0 : 100);
  }
  const auto first = [&](Timestamp from, Timestamp until) {
    return DiagnosisTest::In(
        [&](const DiagnosisInput& input) { return FirstSignOfLoss(input, from, until); });
  };
  EXPECT_EQ(first(Begin(2), End(16)), Begin(12)) << "not at the accident before";
  EXPECT_EQ(first(Begin(14), End(16)), Begin(14));
  EXPECT_EQ(first(Begin(5), End(8)), Begin(5)) << "no sign";
}

TEST_F(LinkLossTest, LossBothWaysIsOneFindingOfTheLink) {
  Loses(Port("leaf0", "spine1"), 8, 20);
  Loses(Port("spine1", "leaf0"), 17, 30);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Link("leaf0", "spine1"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_FALSE(found[0].until) << "it may go on";
  EXPECT_EQ(found[0].evidence.size(), 2u);
}

TEST_F(LinkLossTest, AHostsLinkIsALinkToo) {
  Loses(Port("host5", "leaf1"), 8, 20);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("host5", "leaf1"));
}

// It arrives in the window after that in which it was sent.
TEST_F(LinkLossTest, OneFrameUnderWayOnABusyLinkIsNoLoss) {
  const topology::PortIndex sender = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) Carries(sender, w, 10'000);
  for (size_t w = 3; w + 1 < kWindows; w += 2) {
    Loses(sender, w, 1);
    Grows(fabric_.Peer(sender), Metric::kRxPackets, w + 1, 1);
  }
  EXPECT_TRUE(Found().empty());
}

// Ten at every reading, of the 12.5 that a full link has on its wire.
TEST_F(LinkLossTest, AsManyUnderWayAsAFullLinkHoldsAreNoLoss) {
  const topology::PortIndex sender = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) Carries(sender, w, 11'500);
  Loses(sender, 3, 10);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, FramesWithAWrongCheckSequenceAreBitErrorsOfTheSenderSide) {
  const topology::PortIndex sender = Port("spine0", "leaf2");
  for (size_t w = 8; w < kWindows; ++w) {
    Loses(sender, w, 30);
    Grows(fabric_.Peer(sender), Metric::kFcsErrors, w, 30);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBitErrors);
  EXPECT_EQ(found[0].place, OneWay("spine0", "leaf2"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_LE(found[0].detected_at, End(9));
  EXPECT_FALSE(found[0].until) << "it is still active";
}

TEST_F(LinkLossTest, AFewBrokenFramesAreNoFault) {
  for (const char* leaf : {"leaf1", "leaf2", "leaf3"}) {
    Grows(Port(leaf, "spine0"), Metric::kFcsErrors, 8, 1);
  }
  Grows(Port("leaf1", "spine1"), Metric::kFcsErrors, 12, 5);  // one burst
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, BitErrorsInBothDirectionsAreOneFinding) {
  for (size_t w = 8; w < 14; ++w) {
    Grows(Port("leaf2", "spine0"), Metric::kFcsErrors, w, 3);
    Grows(Port("spine0", "leaf2"), Metric::kFcsErrors, w, 4);
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBitErrors);
  EXPECT_EQ(found[0].place, Link("leaf2", "spine0"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(13)) << "thousands of frames arrived afterwards";
  EXPECT_EQ(found[0].evidence.size(), 2u);
}

// A kind of NIC that leaves MAC control frames out: each port sent 20 that no NIC counts.
TEST_F(LinkLossTest, WhatMostNicsDoNotCountIsNotLost) {
  for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
    if (nic == 3 || nic == 7) continue;
    Loses(fabric_.Peer(fabric_.nic(nic).port), 8 + nic % 4, 20);
  }
  EXPECT_TRUE(Found().empty());
  Loses(Port("leaf0", "spine1"), 8, 20);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u) << "of other links that says nothing";
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine1"));
}

// A leaf counts frames as sent that no NIC counts, such as those of LLDP.
TEST_F(LinkLossTest, WhatMostNeighboursOfALeafDoNotCountIsNotLost) {
  size_t links = 0;
  for (const topology::Port& port : fabric_.PortsOf(Node("leaf0"))) {
    const auto own = static_cast<topology::PortIndex>(&port - fabric_.ports().data());
    if (port.link == topology::kNone || fabric_.node(fabric_.PeerNode(own)).IsSwitch()) continue;
    Loses(own, 8 + links % 4, 20);
    ++links;
  }
  EXPECT_EQ(Found().size(), links) << "so few may all lose frames";
  thresholds_.shared_mismatch_links = 1;
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, AFewHostsLinksThatLoseFramesLoseThem) {
  for (const char* host : {"host1", "host2", "host5"}) {
    Loses(fabric_.Peer(fabric_.nic(NicOf(host)).port), 8, 20);
  }
  EXPECT_EQ(Found().size(), 3u);
}

// Without them nobody knows how many frames a cable holds.
TEST_F(LinkLossTest, APortThatTellsNoBytesIsNotHeldAgainstItsPeer) {
  Loses(Port("leaf0", "spine1"), 8, 20);
  NeverTells(EntityOf(Port("leaf0", "spine1")), Metric::kTxBytes);
  EXPECT_TRUE(Found().empty());
}

// Its last reading is from another moment than that of the other end.
TEST_F(LinkLossTest, EndsThatAreReadAtDifferentMomentsAreNotCompared) {
  Loses(Port("leaf0", "spine1"), 8, 20);
  FallsSilent(EntityOf(Port("spine1", "leaf0")), 18);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, ACounterThatBeginsAnewIsNoLoss) {
  FallsToZero(Port("spine1", "leaf0"), Metric::kRxPackets, 8);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, NorIsAReadingOfZeroThatIsTakenBack) {
  const topology::PortIndex receiver = Port("spine1", "leaf0");
  FallsToZero(receiver, Metric::kRxPackets, 8);
  Grows(receiver, Metric::kRxPackets, 9, 9 * 1000);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LinkLossTest, LossBeforeAndBehindANewBeginningIsFound) {
  Loses(Port("leaf0", "spine1"), 3, 20);
  Loses(Port("leaf0", "spine1"), 14, 30);
  FallsToZero(Port("spine1", "leaf0"), Metric::kRxPackets, 8);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, OneWay("leaf0", "spine1"));
  EXPECT_EQ(found[0].from, Begin(3));
  EXPECT_EQ(found[0].until, End(14));
  EXPECT_EQ(found[0].evidence[0].substr(0, 3), "50 ");
}

TEST_F(LinkLossTest, BitErrorsThatAreTakenBackAreNone) {
  const topology::PortIndex receiver = Port("spine1", "leaf0");
  Grows(receiver, Metric::kFcsErrors, 8, uint64_t{1} << 40);
  Grows(receiver, Metric::kFcsErrors, 9, -(uint64_t{1} << 40));
  EXPECT_TRUE(Found().empty());
}

// The NIC is read a third of a window later than the leaf, so that only bounds are known. The
// frames that it still sent when the link went down are no silent loss.
class FallTest : public LinkLossTest {
 protected:
  // Sends 100,000 frames in each of the windows `busy`. In those of `lossy`, some are lost.
  Findings Found(uint64_t lost, bool falls, const std::set<size_t>& busy = {1, 2, 3, 4, 5, 6, 7},
                 const std::set<size_t>& lossy = {7}) {
    MetricStore metrics(fabric_, {.window = kWindow, .listeners = {&losses_}});
    const topology::PortIndex nic = Port("host0", "leaf0");
    const topology::PortIndex leaf = Port("leaf0", "host0");
    uint64_t sent = 0;
    uint64_t received = 0;
    for (size_t w = 0; w < kWindows; ++w) {
      if (busy.contains(w)) sent += 100'000;
      if (busy.contains(w)) received += 100'000 - (lossy.contains(w) ? lost : 0);
      const auto report = [&](EntityKind kind, topology::PortIndex port, Duration later,
                              Metric metric, uint64_t value) {
        CounterEntity entity{.kind = kind};
        entity.node = fabric_.node(fabric_.port(port).node).name;
        entity.port = kind == EntityKind::kNic ? fabric_.nic(fabric_.NicOf(port)).device
                                               : fabric_.port(port).name;
        metrics.Add(
            {.entity = entity, .metric = metric, .value = value, .event_time = End(w) + later});
      };
      report(EntityKind::kPort, leaf, Duration(0), Metric::kRxPackets, received);
      report(EntityKind::kPort, leaf, Duration(0), Metric::kTxPackets, w);
      report(EntityKind::kPort, leaf, Duration(0), Metric::kLinkFlaps, falls && w >= 7 ? 1 : 0);
      report(EntityKind::kNic, nic, kWindow / 3, Metric::kTxPackets, sent);
      report(EntityKind::kNic, nic, kWindow / 3, Metric::kRxPackets, w);
      for (const std::string& node : contradicting_) {
        const topology::PortIndex peer = Port(node, "leaf0");
        const bool is_nic = fabric_.NicOf(peer) != topology::kNone;
        report(EntityKind::kPort, fabric_.Peer(peer), Duration(0), Metric::kRxPackets, 1000 * w);
        report(is_nic ? EntityKind::kNic : EntityKind::kPort, peer, kWindow / 3, Metric::kTxPackets,
               w);
      }
    }
    return In(metrics, CounterChecks(fabric_), LinkErrors(fabric_), losses_,
              [](const DiagnosisInput& input) {
                Findings found;
                DetectLinkLoss(input, found);
                return found;
              });
  }

  // Nodes from which leaf0 receives more packets than they send.
  std::vector<std::string> contradicting_;

 private:
  LinkLosses losses_{fabric_, {.longest_cache = Duration(1), .clock_error = Duration(1)}};
};

TEST_F(FallTest, ALossWithoutAFallIsSilent) { EXPECT_EQ(Found(200, false).size(), 1u); }

// Frames that arrive in windows 7 and 8 show that the first loss is over.
TEST_F(FallTest, ALossThatReturnsIsAnotherFinding) {
  const Findings found = Found(200, false, {1, 2, 3, 7, 8, 12, 13}, {3, 13});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LT(found[0].until, Begin(7));
  EXPECT_GT(found[1].from, Begin(7));
  EXPECT_EQ(found[0].place, found[1].place);
}

TEST_F(FallTest, FramesThatAreSentWhileALinkFallsAreNoSilentLoss) {
  EXPECT_TRUE(Found(200, true).empty());
}

TEST_F(FallTest, ALossBesideFewContradictionsIsSilent) {
  contradicting_ = {"host1", "host2"};
  EXPECT_EQ(Found(200, false).size(), 1u);
}

TEST_F(FallTest, ASwitchThatContradictsMostOfItsNeighboursShowsNoLoss) {
  contradicting_ = {"host1", "host2", "host3", "spine0"};
  EXPECT_TRUE(Found(200, false).empty());
}

TEST_F(FallTest, MoreThanAFallCanLoseIsSilent) { EXPECT_EQ(Found(90'000, true).size(), 1u); }

}  // namespace
}  // namespace rocescope
