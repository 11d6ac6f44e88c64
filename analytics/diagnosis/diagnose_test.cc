// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/diagnose.h"

#include <gtest/gtest.h>

#include <string>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

using enum FaultKind;

class GroupByRootCauseTest : public DiagnosisTest {
 protected:
  static Finding Seen(FaultKind kind, const Place& place, size_t from, double confidence = 0.9) {
    return {.kind = kind,
            .place = place,
            .confidence = confidence,
            .from = Begin(from),
            .detected_at = End(from)};
  }
  Findings Roots(Findings found) const {
    return GroupByRootCause(fabric_, std::move(found), kWindow);
  }
};

TEST_F(GroupByRootCauseTest, NothingFoldsIntoNothing) { EXPECT_TRUE(Roots({}).empty()); }

TEST_F(GroupByRootCauseTest, LinksThatGoDownWithTheirSwitchAreItsSymptoms) {
  const Findings roots =
      Roots({Seen(kLinkDown, Link("leaf0", "spine1"), 8), Seen(kSwitchCrash, Switch("spine1"), 8),
             Seen(kLinkDown, Link("leaf2", "spine1"), 9)});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].kind, kSwitchCrash);
  ASSERT_EQ(roots[0].symptoms.size(), 2u);
  EXPECT_EQ(roots[0].symptoms[0].place, Link("leaf0", "spine1"));
  EXPECT_EQ(roots[0].symptoms[1].place, Link("leaf2", "spine1"));
}

TEST_F(GroupByRootCauseTest, ALinkElsewhereIsAFaultOfItsOwn) {
  const Findings roots =
      Roots({Seen(kSwitchCrash, Switch("spine1"), 8), Seen(kLinkDown, Link("leaf2", "spine0"), 9)});
  EXPECT_EQ(roots.size(), 2u);
}

TEST_F(GroupByRootCauseTest, WhatBeganLongBeforeIsNoSymptom) {
  const Findings roots =
      Roots({Seen(kLinkDown, Link("leaf0", "spine1"), 2), Seen(kSwitchCrash, Switch("spine1"), 8)});
  EXPECT_EQ(roots.size(), 2u);
}

TEST_F(GroupByRootCauseTest, WhatBeginsLongAfterItsEndIsNoSymptom) {
  Finding crash = Seen(kSwitchCrash, Switch("spine1"), 2);
  crash.until = End(3);
  EXPECT_EQ(Roots({crash, Seen(kLinkDown, Link("leaf0", "spine1"), 15)}).size(), 2u);
  EXPECT_EQ(Roots({crash, Seen(kLinkDown, Link("leaf0", "spine1"), 13)}).size(), 1u);
}

TEST_F(GroupByRootCauseTest, ALinkThatComesUpAtALowerSpeedHasAnotherFault) {
  Finding down = Seen(kLinkDown, Link("leaf0", "spine1"), 2);
  down.until = End(3);
  EXPECT_EQ(Roots({down, Seen(kDegradedRate, Link("leaf0", "spine1"), 3)}).size(), 1u);
  EXPECT_EQ(Roots({down, Seen(kDegradedRate, Link("leaf0", "spine1"), 7)}).size(), 2u);
}

TEST_F(GroupByRootCauseTest, ACauseMayBeASymptomInTurn) {
  const Findings roots =
      Roots({Seen(kSwitchCrash, Switch("spine1"), 8), Seen(kLinkDown, Link("leaf0", "spine1"), 8),
             Seen(kGrayLoss, Link("leaf0", "spine1"), 8)});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].kind, kSwitchCrash);
  EXPECT_EQ(roots[0].symptoms.size(), 2u);
}

// An incast delays the responses of a NIC. It does not make the NIC pause its switch.
TEST_F(GroupByRootCauseTest, ANicThatPausesIsSlowBesideAnIncast) {
  Finding slow = Seen(kSlowReceiver, Nic("host0"), 8);
  const Finding incast = Seen(kIncast, Nic("host0"), 8);
  EXPECT_EQ(Roots({slow, incast}).size(), 2u);
  slow.basis = Basis::kDelays;
  EXPECT_EQ(Roots({slow, incast}).size(), 1u);
}

TEST_F(GroupByRootCauseTest, ALastingCauseHasEachSymptomOnce) {
  Findings found = {Seen(kSwitchCrash, Switch("spine1"), 8),
                    Seen(kLinkDown, Link("leaf0", "spine1"), 8)};
  Findings roots = Roots(found);
  for (int diagnosis = 0; diagnosis < 3; ++diagnosis) {
    roots.push_back(found[1]);
    roots = Roots(std::move(roots));
    ASSERT_EQ(roots.size(), 1u);
    EXPECT_EQ(roots[0].symptoms.size(), 1u);
  }
}

TEST_F(GroupByRootCauseTest, TheSameFaultIsNoSymptomOfItself) {
  Finding voted = Seen(kGrayLoss, Link("leaf0", "spine0"), 9);
  voted.basis = Basis::kVotes;
  const Findings roots = Roots({Seen(kGrayLoss, Link("leaf0", "spine0"), 8, 0.98), voted});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_TRUE(roots[0].symptoms.empty());
}

// A storm's pauses can reach the whole fabric.
TEST_F(GroupByRootCauseTest, AStormMakesSwitchesAnywhereLookMisconfigured) {
  const Findings roots =
      Roots({Seen(kPfcStorm, Nic("host0"), 8), Seen(kMisconfiguredEcn, Switch("leaf3"), 9)});
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(roots[0].kind, kPfcStorm);
}

TEST_F(GroupByRootCauseTest, AStormDoesNotExplainWhatItsPausesDoNotReach) {
  Finding far = Seen(kBlackhole, Switch("leaf3"), 9);
  far.is_free_of_pauses = true;
  EXPECT_EQ(Roots({Seen(kPfcStorm, Nic("host0"), 8), far}).size(), 2u);
  EXPECT_EQ(Roots({Seen(kSwitchCrash, Switch("leaf3"), 8), far}).size(), 1u);
}

TEST_F(GroupByRootCauseTest, ASlowReceiverDoesNotExplainPausesThatItsOwnDoNotReach) {
  const Finding slow = Seen(kSlowReceiver, Nic("host0"), 8);
  Finding far = Seen(kMisconfiguredAlpha, Switch("leaf3"), 9);
  EXPECT_EQ(Roots({slow, far}).size(), 1u);
  far.is_free_of_pauses = true;
  EXPECT_EQ(Roots({slow, far}).size(), 2u);
}

TEST_F(GroupByRootCauseTest, WhoeverIsOnlyWaitedForFoldsUnderAnyOtherFault) {
  Finding waiting = Seen(kStraggler, Gpu("host5"), 8);
  waiting.basis = Basis::kWaiting;
  EXPECT_EQ(Roots({Seen(kDegradedRate, Link("host9", "leaf2"), 7), waiting}).size(), 1u);
  EXPECT_EQ(Roots({waiting}).size(), 1u);
  EXPECT_EQ(Roots({waiting})[0].kind, kStraggler);
  // Its clock says so itself.
  waiting.basis = Basis::kItself;
  EXPECT_EQ(Roots({Seen(kDegradedRate, Link("host9", "leaf2"), 7), waiting}).size(), 2u);
}

// A loop of four ports; one of them is the place of the deadlock.
TEST_F(GroupByRootCauseTest, AllSwitchesOfALoopAreWhereTheDeadlockIs) {
  Finding deadlock = Seen(kPfcDeadlock, OneWay("leaf0", "spine0"), 9);
  deadlock.loop = {Port("leaf0", "spine0"), Port("spine0", "leaf1"), Port("leaf1", "spine1"),
                   Port("spine1", "leaf0")};
  EXPECT_EQ(Roots({deadlock, Seen(kPolarisation, Switch("leaf1"), 8)}).size(), 1u);
  EXPECT_EQ(Roots({deadlock, Seen(kPolarisation, Switch("leaf2"), 8)}).size(), 2u);
}

// A link that has been down for long, and that the job does not use, keeps nobody waiting.
TEST_F(GroupByRootCauseTest, WhoeverIsWaitedForLongAfterAnotherFaultIsNotItsSymptom) {
  Finding waiting = Seen(kStraggler, Gpu("host5"), 19);
  waiting.basis = Basis::kWaiting;
  waiting.affected_jobs = {3};
  Finding down = Seen(kLinkDown, Link("host9", "leaf2"), 2);
  down.affected_jobs = {1, 2};
  EXPECT_EQ(Roots({down, waiting}).size(), 2u);
  down.affected_jobs = {1, 2, 3};
  EXPECT_EQ(Roots({down, waiting}).size(), 1u);
}

TEST_F(GroupByRootCauseTest, LossThatIsVotedForLongAfterAFaultOfOthersIsNotItsSymptom) {
  Finding voted = Seen(kGrayLoss, Link("leaf0", "spine1"), 19);
  voted.basis = Basis::kVotes;
  voted.affected_jobs = {3};
  Finding down = Seen(kLinkDown, Link("host9", "leaf2"), 2);
  down.affected_jobs = {1, 2};
  EXPECT_EQ(Roots({down, voted}).size(), 2u);
  EXPECT_EQ(Roots({Seen(kLinkDown, Link("host9", "leaf2"), 17), voted}).size(), 1u);
}

TEST_F(GroupByRootCauseTest, RootsAreInOrderOfTime) {
  const Findings roots =
      Roots({Seen(kNicCrash, Nic("host9"), 12), Seen(kLinkDown, Link("leaf0", "spine1"), 3)});
  ASSERT_EQ(roots.size(), 2u);
  EXPECT_EQ(roots[0].from, Begin(3));
  EXPECT_EQ(roots[1].from, Begin(12));
}

// Has one input for each detector of detectors.h: a fault that only this detector finds.
class DiagnoseTest : public DiagnosisTest {
 protected:
  testing::AssertionResult FindsOnly(FaultKind kind, const Place& place) {
    for (const Detector& detector : kDetectors) {
      for (const Finding& finding : Found(detector.run)) {
        EXPECT_TRUE(detector.kinds.Contains(finding.kind)) << detector.name;
      }
    }
    const Findings found = Diagnosed();
    if (found.size() == 1 && found[0].kind == kind && found[0].place == place) {
      return testing::AssertionSuccess();
    }
    auto failure = testing::AssertionFailure() << found.size() << " found";
    for (const Finding& finding : found) {
      failure << "; " << InfoOf(finding.kind).name << " of " << NameOf(fabric_, finding.place);
    }
    return failure;
  }
  // As far as the last of the nodes.
  void Send(const std::vector<std::string>& nodes, size_t window, uint64_t frames) {
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      Carries(Port(nodes[i], nodes[i + 1]), window, frames);
    }
  }
  void AllCarry() {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      for (size_t w = 0; w < kWindows; ++w) Carries(port, w, 1000);
    }
  }
};

TEST_F(DiagnoseTest, AHealthyFabricHasNoFaults) {
  AllCarry();
  EXPECT_TRUE(Diagnosed().empty());
}

TEST_F(DiagnoseTest, AsksForTheStateOfLinks) {
  AllCarry();
  for (size_t w = 8; w < 12; ++w) {
    Says(Port("leaf0", "spine1"), Metric::kLinkUp, w, 0);
    Says(Port("spine1", "leaf0"), Metric::kLinkUp, w, 0);
  }
  EXPECT_TRUE(FindsOnly(kLinkDown, Link("leaf0", "spine1")));
}

TEST_F(DiagnoseTest, AsksForLossOnLinks) {
  AllCarry();
  Carries(Port("leaf0", "spine1"), 8, 20, 20);
  EXPECT_TRUE(FindsOnly(kGrayLoss, OneWay("leaf0", "spine1")));
}

TEST_F(DiagnoseTest, EachFindingNamesItsDetector) {
  AllCarry();
  Carries(Port("leaf0", "spine1"), 8, 20, 20);
  const Findings found = Diagnosed();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].detector, "link_loss");
  EXPECT_EQ(found[0].uncalibrated, 0.6);  // without error counters
}

// A finding that lasts keeps its detector, and is calibrated once.
TEST_F(DiagnoseTest, ALastingFindingKeepsItsDetector) {
  const Finding lasting = {.kind = kAddedLatency,
                           .place = Link("leaf0", "spine1"),
                           .confidence = 0.4,
                           .uncalibrated = 0.95,
                           .detector = "longer_links",
                           .from = Begin(1),
                           .detected_at = End(2)};
  AllCarry();
  const Findings once = In([&](const DiagnosisInput& input) { return Diagnose(input, {lasting}); });
  const Findings twice = In([&](const DiagnosisInput& input) { return Diagnose(input, once); });
  ASSERT_EQ(once.size(), 1u);
  EXPECT_EQ(once[0].detector, "longer_links");
  EXPECT_EQ(once[0].uncalibrated, 0.95);
  EXPECT_EQ(once, twice);
}

// What their ends count is exchanged, as if by the other's cable; no link carries what another
// does.
TEST_F(DiagnoseTest, AsksForCrossedLinks) {
  const topology::PortIndex swapped[] = {Port("spine0", "leaf0"), Port("spine0", "leaf1")};
  const auto other_end = [&](topology::PortIndex port) {
    if (port == swapped[0]) return Port("leaf1", "spine0");
    if (port == swapped[1]) return Port("leaf0", "spine0");
    if (port == Port("leaf0", "spine0")) return swapped[1];
    if (port == Port("leaf1", "spine0")) return swapped[0];
    return fabric_.Peer(port);
  };
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    for (size_t w = 0; w < kWindows; ++w) {
      const uint64_t frames = 1000 + 7 * port;
      Grows(port, Metric::kTxPackets, w, frames);
      Grows(port, Metric::kTxBytes, w, frames * 1000);
      Grows(other_end(port), Metric::kRxPackets, w, frames);
    }
  }
  EXPECT_TRUE(FindsOnly(kSwappedCables, Link("leaf0", "spine0")));
}

TEST_F(DiagnoseTest, AsksForLossInSwitches) {
  for (size_t w = 0; w < kWindows; ++w) {
    Send({"host0", "leaf0", "spine0", "leaf1", "host4"}, w, 1000);
    Send({"host8", "leaf2", "spine0", "leaf3", "host12"}, w, 1000);
    Says(Port("spine0", "leaf1"), Metric::kQueueBytes, w, 0, kRoce);
    for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
      Grows(OfNic(nic), Metric::kCnpSent, w, 10);
      Grows(OfNic(nic), Metric::kCnpHandled, w, 10);
    }
  }
  for (size_t w = 8; w < kWindows; ++w) Send({"host0", "leaf0", "spine0"}, w, 100);
  EXPECT_TRUE(FindsOnly(kBlackhole, Switch("spine0")));
}

// spine0 leads to host8, host9 and host12, spine1 to host10 and host13.
TEST_F(DiagnoseTest, AsksForCorruption) {
  Goes({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
  Goes({"host4", "leaf1", "spine0", "leaf2", "host9"}, 2);
  Goes({"host1", "leaf0", "spine0", "leaf3", "host12"}, 3);
  Goes({"host5", "leaf1", "spine1", "leaf2", "host10"}, 4);
  Goes({"host2", "leaf0", "spine1", "leaf3", "host13"}, 5);
  for (const char* host : {"host8", "host9", "host12"}) {
    Grows(OfNic(NicOf(host)), Metric::kIcrcErrors, 8, 6);
  }
  EXPECT_TRUE(FindsOnly(kCorruption, Switch("spine0")));
}

// The link from leaf0 to spine0 is all that both flows share and no other flow takes.
TEST_F(DiagnoseTest, AsksForLossThatNobodyCounts) {
  Goes({"host0", "leaf0", "spine0", "leaf2", "host8"}, 1);
  Goes({"host1", "leaf0", "spine0", "leaf3", "host12"}, 2);
  Goes({"host2", "leaf0", "spine1", "leaf2", "host9"}, 3);
  Goes({"host4", "leaf1", "spine0", "leaf3", "host13"}, 4);
  Connects(Flow("host0", "host8", 1), Flow("host8", "host0", 101));
  Connects(Flow("host1", "host12", 2), Flow("host12", "host1", 102));
  for (size_t w = 8; w < 11; ++w) {
    Loses(Flow("host8", "host0", 101), w, 0, 2);
    Loses(Flow("host12", "host1", 102), w, 0, 2);
  }
  NeverTells(EntityOf(Port("leaf0", "spine0")), Metric::kTxPackets);
  Grows(Port("spine0", "leaf0"), Metric::kFcsErrors, 0, 0);
  EXPECT_TRUE(FindsOnly(kGrayLoss, OneWay("leaf0", "spine0")));
}

TEST_F(DiagnoseTest, AsksWhoPauses) {
  for (size_t w = 0; w < 8; ++w) Carries(Port("leaf0", "host1"), w, 5000);
  for (size_t w = 8; w < 15; ++w) {
    Grows(Port("leaf0", "host1"), Metric::kPfcRxTime, w, kWindow.count(), kRoce);
  }
  EXPECT_TRUE(FindsOnly(kPfcStorm, Nic("host1")));
}

TEST_F(DiagnoseTest, AsksForThresholds) {
  const auto queue = [&](const char* from, const char* to, size_t window, uint64_t bytes,
                         uint64_t marked) {
    Says(Port(from, to), Metric::kQueueWatermark, window, bytes, kRoce);
    Grows(Port(from, to), Metric::kEcnMarked, window, marked, kRoce);
    Carries(Port(from, to), window, 1000);
  };
  for (size_t w = 0; w < kWindows; ++w) {
    queue("leaf1", "spine0", w, 100'000, 1);
    queue("leaf2", "spine0", w, 400'000, 50);
    queue("leaf3", "spine0", w, 400'000, 50);
    queue("spine0", "leaf1", w, 400'000, 50);
  }
  for (size_t w = 8; w < 14; ++w) queue("leaf0", "spine0", w, 400'000, 0);
  EXPECT_TRUE(FindsOnly(kMisconfiguredEcn, Switch("leaf0")));
}

TEST_F(DiagnoseTest, AsksWhoGetsTooMuch) {
  for (size_t w = 8; w < kWindows; ++w) {
    Grows(Port("leaf0", "host0"), Metric::kTxBytes, w, kLine * 95 / 100);
  }
  for (const char* sender : {"host4", "host5", "host6", "host8", "host9", "host12"}) {
    Sends(sender, "host0", 17, 8);
  }
  EXPECT_TRUE(FindsOnly(kIncast, Nic("host0")));
}

// The chance level is 2^-3 for each of eight pairs of hosts.
TEST_F(DiagnoseTest, AsksForHashing) {
  for (size_t pair = 0; pair < 8; ++pair) {
    const std::string from = "host" + std::to_string(pair % 4);
    const size_t to = 4 + pair / 4;
    for (uint32_t flow = 0; flow < 4; ++flow) {
      Goes({from, "leaf0", "spine" + std::to_string(pair % 2), "leaf" + std::to_string(to / 4),
            "host" + std::to_string(to)},
           100 + flow);
    }
  }
  EXPECT_TRUE(FindsOnly(kPolarisation, Switch("leaf0")));
}

TEST_F(DiagnoseTest, AsksForLongerLinks) {
  const DelayKey way = Way(DelayKind::kTransit, {"leaf0", "spine1"});
  Takes(way, 0, kWindows - 1, {.least = 1000, .count = 10});
  Takes(way, 8, 14, {.least = 6000, .count = 10});
  EXPECT_TRUE(FindsOnly(kAddedLatency, OneWay("leaf0", "spine1")));
}

TEST_F(DiagnoseTest, AsksForNicDiscards) {
  AllCarry();
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(OfNic(NicOf("host5")), Metric::kRxDiscards, w, w < 8 ? 0 : 50);
    Grows(OfNic(NicOf("host5")), Metric::kOutOfSequence, w, w < 8 ? 0 : 400);
    Grows(OfNic(NicOf("host1")), Metric::kPacketSequenceError, w, w < 8 ? 0 : 50);
  }
  EXPECT_TRUE(FindsOnly(kSlowReceiver, Nic("host5")));
}

TEST_F(DiagnoseTest, AsksForLateAnswers) {
  const DelayKey way = {
      .kind = DelayKind::kTurnaround, .from = Node("leaf1"), .to = NicOf("host5")};
  Takes(way, 0, kWindows - 1,
        {.least = 2000, .most = 4000, .next_most = 4000, .sum = 30'000, .count = 10});
  Takes(way, 8, 14,
        {.least = 7000, .most = 40'000, .next_most = 40'000, .sum = 140'000, .count = 10});
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("leaf1", "host5"), Metric::kQueueWatermark, w, 0, kRoce);
  }
  EXPECT_TRUE(FindsOnly(kSlowReceiver, Nic("host5")));
}

TEST_F(DiagnoseTest, AsksForLateCnps) {
  for (const size_t w : {6, 7, 9, 11}) {
    Takes(Way(DelayKind::kCnp, {"leaf0", "spine0"}), w, w, {.count = 10, .late = 1});
  }
  EXPECT_TRUE(FindsOnly(kDeprioritisedCnps, Switch("leaf0")));
}

TEST_F(DiagnoseTest, AsksForStragglers) {
  for (topology::GpuIndex gpu = 0; gpu < fabric_.gpus().size(); ++gpu) {
    for (size_t w = 0; w < kWindows; ++w) {
      const bool slow = gpu == GpuOf("host5") && w >= 8 && w < 14;
      Says(OfGpu(gpu), Metric::kGpuClock, w, slow ? 1'260'000'000 : 1'980'000'000);
      Says(OfGpu(gpu), Metric::kMemoryTotal, w, 80'000'000'000);
      Says(OfGpu(gpu), Metric::kMemoryFree, w, 8'000'000'000);
    }
  }
  EXPECT_TRUE(FindsOnly(kStraggler, Gpu("host5")));
}

TEST_F(DiagnoseTest, AsksForCables) {
  cabling_.findings = {{.kind = CableFindingKind::kSwapped,
                        .declared = {Link("leaf0", "spine0").index, Link("leaf1", "spine1").index},
                        .real = {{Port("leaf0", "spine0"), Port("spine1", "leaf1")}},
                        .confidence = 0.98,
                        .flows = 14,
                        .since = Begin(2)}};
  EXPECT_TRUE(FindsOnly(kSwappedCables, Link("leaf0", "spine0")));
}

}  // namespace
}  // namespace rocescope
