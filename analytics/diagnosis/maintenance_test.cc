// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/maintenance.h"

#include <gtest/gtest.h>

#include <string>

#include "analytics/diagnosis/link_state_fixture.h"

namespace rocescope {
namespace {

using MaintenanceTest = LinkStateTest;

TEST_F(MaintenanceTest, ALinkThatIsDisabledIsNoFault) {
  for (size_t w = 8; w < 14; ++w) Says(Port("leaf0", "spine1"), Metric::kAdminUp, w, 0);
  for (size_t w = 0; w < 8; ++w) Says(Port("leaf0", "spine1"), Metric::kAdminUp, w, 1);
  for (size_t w = 14; w < kWindows; ++w) Says(Port("leaf0", "spine1"), Metric::kAdminUp, w, 1);
  IsDown("leaf0", "spine1", 8, 14);
  EXPECT_TRUE(Found().empty()) << "the other end is read later";
  IsDown("leaf0", "spine1", 17, 18);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].from, Begin(17));
}

// A reading got lost, so that the next one counts that the link went down since window 6.
TEST_F(MaintenanceTest, DisablingIsKnownByTheNextReading) {
  for (size_t w = 0; w < kWindows; ++w) {
    if (w == 7) continue;
    Says(Port("leaf0", "spine1"), Metric::kAdminUp, w, w >= 8 && w < 14 ? 0 : 1);
  }
  Grows(Port("leaf0", "spine1"), Metric::kLinkFlaps, 6, 1);
  IsDown("leaf0", "spine1", 8, 13);
  EXPECT_TRUE(Found().empty());
}

// Its GPUs report nothing either, and all come back.
TEST_F(MaintenanceTest, AHostThatRestartsIsNoFaultOfTheFabric) {
  SaysDown(Port("leaf1", "host5"), 8, 14);
  for (size_t w = 0; w < kWindows; ++w) {
    if (w < 8 || w > 14) Says(OfGpu(GpuOf("host5")), Metric::kMemoryTotal, w, 80'000'000'000);
    Says(OfGpu(GpuOf("host6")), Metric::kMemoryTotal, w, 80'000'000'000);
  }
  SkipsReadings(OfNic(NicOf("host5")), 8, 14);
  EXPECT_TRUE(Found().empty());
}

TEST_F(MaintenanceTest, ANicOfAHostThatStillReportsIsGone) {
  SaysDown(Port("leaf1", "host5"), 8, 14);
  for (size_t w = 0; w < kWindows; ++w) {
    Says(OfGpu(GpuOf("host5")), Metric::kMemoryTotal, w, 80'000'000'000);
  }
  SkipsReadings(OfNic(NicOf("host5")), 8, 14);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kNicCrash);
}

// The NIC was read before it went down in the first window, and after it came up in the last one.
TEST_F(MaintenanceTest, AReadingBeforeTheCrashDoesNotKeepANicAlive) {
  SaysDown(Port("leaf1", "host5"), 8, 14);
  SkipsReadings(OfNic(NicOf("host5")), 9, 13);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kNicCrash);
}

// Devices are read in the middle of windows. The NIC and its host are silent from the crash on.
TEST_F(MaintenanceTest, SomeReadingsAreNeededToTellAHostFromItsNic) {
  read_later_ = kWindow / 3;
  const Entity gpu = OfGpu(GpuOf("host5"));
  for (size_t w = 0; w < kWindows; ++w) Says(gpu, Metric::kMemoryTotal, w, 80);
  SaysDown(Port("leaf1", "host5"), kWindows - 2, kWindows - 1);
  FallsSilent(OfNic(NicOf("host5")), kWindows - 2);
  EXPECT_TRUE(Found().empty()) << "too early";
  SaysDown(Port("leaf1", "host5"), kWindows - 6, kWindows - 1);
  FallsSilent(OfNic(NicOf("host5")), kWindows - 6);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kNicCrash);
  FallsSilent(gpu, kWindows - 6);
  EXPECT_TRUE(Found().empty()) << "the host is down";
}

// The switch answers from a cache: it reports the outage when the host is up again.
TEST_F(MaintenanceTest, AHostThatIsUpAgainWhenItsLinkIsReportedDownRestarted) {
  read_later_ = kWindow / 3;
  const Entity gpu = OfGpu(GpuOf("host5"));
  for (size_t w = 0; w < kWindows; ++w) {
    if (w != 6 && w != 7) Says(gpu, Metric::kMemoryTotal, w, 80);
  }
  SaysDown(Port("leaf1", "host5"), 8, 8);
  SkipsReadings(OfNic(NicOf("host5")), 7, 7);
  ASSERT_EQ(Found().size(), 1u) << "one reading was lost";
  EXPECT_EQ(Found()[0].kind, FaultKind::kLinkDown);
  SkipsReadings(OfNic(NicOf("host5")), 6, 7);
  EXPECT_TRUE(Found().empty());
}

// One reading of the NIC is missing, as if it had been lost, but its counters restart.
TEST_F(MaintenanceTest, ANicWhoseCountersRestartWithItsHostIsNoLinkFault) {
  read_later_ = kWindow / 3;
  const Entity nic = OfNic(NicOf("host5"));
  const Entity gpu = OfGpu(GpuOf("host5"));
  for (size_t w = 0; w < kWindows; ++w) {
    if (w != 8 && w != 9) Says(gpu, Metric::kMemoryTotal, w, 80);
    Grows(nic, Metric::kRxPackets, w, 100);
  }
  SaysDown(Port("leaf1", "host5"), 8, 8);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kLinkDown);
  FallsToZero(nic, Metric::kRxPackets, 10);
  EXPECT_TRUE(Found().empty());
}

// One missing reading of the GPU is enough if the counters of the NIC restart.
TEST_F(MaintenanceTest, AHostThatRestartsQuicklyIsNoFault) {
  const Entity nic = OfNic(NicOf("host5"));
  const Entity gpu = OfGpu(GpuOf("host5"));
  for (size_t w = 0; w < kWindows; ++w) {
    if (w != 9) Says(gpu, Metric::kMemoryTotal, w, 80);
    Grows(nic, Metric::kRxPackets, w, 100);
  }
  SaysDown(Port("leaf1", "host5"), 10, 10);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kLinkDown);
  FallsToZero(nic, Metric::kRxPackets, 10);
  EXPECT_TRUE(Found().empty());
}

// The NIC was reset, and its host was not.
TEST_F(MaintenanceTest, ANicThatRestartsAloneIsALinkFault) {
  const Entity nic = OfNic(NicOf("host5"));
  const Entity gpu = OfGpu(GpuOf("host5"));
  for (size_t w = 0; w < kWindows; ++w) {
    Says(gpu, Metric::kMemoryTotal, w, 80);
    Grows(nic, Metric::kRxPackets, w, 100);
  }
  SaysDown(Port("leaf1", "host5"), 10, 10);
  FallsToZero(nic, Metric::kRxPackets, 10);
  EXPECT_EQ(Found().size(), 1u);
}

class DrainTest : public MaintenanceTest {
 protected:
  // spine1 is without frames from window `idle` on, and down from window 8 to 14.
  void Upgrade(size_t idle) {
    for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
      for (size_t w = 0; w < kWindows; ++w) {
        Carries(Port(leaf, "spine0"), w, 1000);
        if (w < idle || w > 14) Carries(Port(leaf, "spine1"), w, 1000);
      }
      SaysDown(Port(leaf, "spine1"), 8, 14);
      SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 14);
    }
  }
};

TEST_F(DrainTest, ASwitchThatWasDrainedBeforeIsNotCrashed) {
  Upgrade(8);
  EXPECT_TRUE(Found().empty());
}

// The reading that shows the links down also counts frames of the routing protocol, for example.
TEST_F(DrainTest, TheReadingBeforeShowsADrainToo) {
  Upgrade(5);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine1"), 8, 60);
  }
  EXPECT_TRUE(Found().empty());
}

// One of its links was disabled before.
TEST_F(DrainTest, ADrainedSwitchMayHaveADisabledLink) {
  Upgrade(8);
  const topology::PortIndex port = Port("leaf3", "spine1");
  for (size_t w = 0; w < kWindows; ++w) {
    const bool is_disabled = w >= 5 && w <= 15;
    Says(port, Metric::kAdminUp, w, is_disabled ? 0 : 1);
    if (is_disabled) Says(port, Metric::kLinkUp, w, 0);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(DrainTest, ASwitchThatHardlyCarriedAnythingIsOnlySuspected) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (size_t w = 0; w < 9; ++w) Carries(Port(leaf, "spine1"), w, 2);
    SaysDown(Port(leaf, "spine1"), 8, 14);
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 14);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0]));
}

TEST_F(DrainTest, ItMayGoDownWhileAllOthersAreIdleToo) {
  Upgrade(5);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine0"), 8, 0);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(DrainTest, ASwitchThatCarriedFramesWhenItWentDownIs) {
  Upgrade(9);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kSwitchCrash);
}

// It may have been drained for less than a window. A crash would have lost the packets on their
// way.
TEST_F(DrainTest, ASwitchThatLosesNothingWhenItGoesDownIsOnlySuspected) {
  Upgrade(8);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine1"), 8, 300);
  }
  Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, 12, 0);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0]));
  Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, 9, 40);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
}

// With little traffic, the packets of each connection that are lost are the last ones for a while.
TEST_F(DrainTest, TimeoutsOfSeveralNicsAreASignOfACrash) {
  Upgrade(8);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine1"), 8, 300);
  }
  for (const char* host : {"host0", "host6"}) {
    for (size_t w = 0; w < kWindows; ++w) {
      Grows(OfNic(NicOf(host)), Metric::kLocalAckTimeout, w, 0);
    }
  }
  Grows(OfNic(NicOf("host0")), Metric::kLocalAckTimeout, 9, 1);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0])) << "one NIC can have a timeout for another reason";
  Grows(OfNic(NicOf("host6")), Metric::kLocalAckTimeout, 9, 1);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
  Grows(OfNic(NicOf("host6")), Metric::kLocalAckTimeout, 3, 1);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0])) << "it had timeouts before";
}

// In a large fabric, some NICs have timeouts in every short period.
TEST_F(DrainTest, TimeoutsAtTheRateBeforeAreNoSignOfACrash) {
  Upgrade(8);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine1"), 8, 300);
  }
  for (const std::string host : {"host0", "host1", "host2", "host3", "host6"}) {
    for (size_t w = 0; w < kWindows; ++w) {
      Grows(OfNic(NicOf(host)), Metric::kLocalAckTimeout, w, 0);
    }
  }
  for (const char* host : {"host0", "host6"}) {
    Grows(OfNic(NicOf(host)), Metric::kLocalAckTimeout, 9, 1);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
  for (const size_t i : {1, 2, 3}) {
    Grows(OfNic(NicOf("host" + std::to_string(i))), Metric::kLocalAckTimeout, i, 1);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0]));
  // NICs that have timeouts all the time say nothing about the others.
  for (const size_t i : {1, 2, 3}) {
    for (size_t w = 0; w < kWindows; ++w) {
      Grows(OfNic(NicOf("host" + std::to_string(i))), Metric::kLocalAckTimeout, w, 1);
    }
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
}

TEST_F(DrainTest, ASwitchThatCarriesItsUsualTrafficUntilItGoesDownHasCrashed) {
  Upgrade(8);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine1"), 8, 600);
  }
  Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, 12, 0);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0])) << "although no NIC noticed a loss";
  read_later_ = kWindow / 3;
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0])) << "the counters may be cached ones";
}

// It began to carry traffic in the window in which it went down.
TEST_F(DrainTest, ASwitchThatJustBeganToCarryTrafficIsNotDrained) {
  Upgrade(0);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (size_t w = 15; w < kWindows; ++w) Carries(Port(leaf, "spine1"), w, 0);
    Carries(Port(leaf, "spine1"), 8, 1000);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
}

TEST_F(DrainTest, ASwitchThatNeverCarriedTrafficIsOnlySuspected) {
  Upgrade(0);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (size_t w = 15; w < kWindows; ++w) Carries(Port(leaf, "spine1"), w, 0);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0]));
}

// A fault elsewhere loses packets all the time.
TEST_F(DrainTest, LossesThatAreThereBeforeAreNoSignOfACrash) {
  Upgrade(8);
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    Carries(Port(leaf, "spine1"), 8, 300);
  }
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, w, 40);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0]));
  Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, 9, 400);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
}

// Most other switches of its tier are idle, too, and another fault loses packets.
TEST_F(DrainTest, IdleSwitchLosesNothingWhenItGoesDown) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (const char* spine : {"spine0", "spine1"}) {
      for (size_t w = 0; w < 6; ++w) Carries(Port(leaf, spine), w, 1000);
    }
    SaysDown(Port(leaf, "spine1"), 8, 14);
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 14);
  }
  Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, 8, 400);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0]));
}

// Another fault loses packets all the time, but a crash causes timeouts.
TEST_F(DrainTest, EachSignOfLossesCounts) {
  Upgrade(9);
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, w, 4000);
    Grows(OfNic(NicOf("host0")), Metric::kLocalAckTimeout, w, w == 9 ? 40 : 0);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kSwitchCrash);
}

TEST_F(DrainTest, ASwitchThatCrashesWhileNobodySendsIsNotDrained) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (const char* spine : {"spine0", "spine1"}) {
      for (size_t w = 0; w < 8; ++w) Carries(Port(leaf, spine), w, 1000);
    }
    SaysDown(Port(leaf, "spine1"), 8, 14);
    SkipsReadings(EntityOf(Port("spine1", leaf)), 8, 14);
  }
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_FALSE(IsSuspected(Found()[0]));
  Grows(OfNic(NicOf("host0")), Metric::kOutOfSequence, 12, 0);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0])) << "NICs lost nothing";
}

// The NICs of leaf1 exchange frames in every third window before window `idle`. From window 8 to 14
// all links of leaf1 are down.
class LeafOutageTest : public MaintenanceTest {
 protected:
  void GoesDown(size_t idle) {
    for (const char* host : {"host4", "host5", "host6", "host7"}) {
      for (size_t w = 0; w < idle; w += 3) Carries(Port(host, "leaf1"), w, 1000);
      SaysDown(Port(host, "leaf1"), 8, 14);
      SkipsReadings(EntityOf(Port("leaf1", host)), 8, 14);
    }
    for (const char* spine : {"spine0", "spine1"}) {
      for (size_t w = 0; w < idle; w += 3) Carries(Port(spine, "leaf1"), w, 1000);
      SaysDown(Port(spine, "leaf1"), 8, 14);
      SkipsReadings(EntityOf(Port("leaf1", spine)), 8, 14);
    }
  }
};

TEST_F(LeafOutageTest, ALeafThatGoesDownBetweenTwoPhasesOfAJobCrashed) {
  GoesDown(8);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].kind, FaultKind::kSwitchCrash);
  EXPECT_FALSE(IsSuspected(Found()[0]));
}

TEST_F(LeafOutageTest, ALeafWhoseNicsAreIdleForLongMayBeUnderMaintenance) {
  GoesDown(4);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_TRUE(IsSuspected(Found()[0])) << "idle for five windows, before for two";
}

// Four hosts with four NICs each; NIC n of each host is at leaf n.
class RailTest : public DiagnosisTest {
 protected:
  RailTest()
      : DiagnosisTest(topology::Generate({.hosts = 4,
                                          .nics_per_host = 4,
                                          .gpus_per_host = 4,
                                          .rail_optimised = true,
                                          .leaves = 4,
                                          .spines = 2})
                          .value()) {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      for (size_t w = 0; w < kWindows; ++w) Says(port, Metric::kLinkUp, w, 1);
    }
    for (topology::GpuIndex gpu = 0; gpu < fabric_.gpus().size(); ++gpu) {
      for (size_t w = 0; w < kWindows; ++w) Says(OfGpu(gpu), Metric::kMemoryTotal, w, 80);
    }
  }

  // Its neighbours report the links down.
  void GoesDown(topology::NodeIndex node, size_t first, size_t last) {
    for (const topology::Port& port : fabric_.PortsOf(node)) {
      const auto own = static_cast<topology::PortIndex>(&port - fabric_.ports().data());
      for (size_t w = first; w <= last; ++w) Says(fabric_.Peer(own), Metric::kLinkUp, w, 0);
      SkipsReadings(EntityOf(own), first, last);
    }
  }
  void Restarts(std::string_view host, size_t first, size_t last) {
    GoesDown(Node(host), first, last);
    for (const topology::GpuIndex gpu : fabric_.GpusOf(Node(host))) {
      SkipsReadings(OfGpu(gpu), first, last);
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectLinkState); }
};

TEST_F(RailTest, AHostThatRestartsIsNoFault) {
  Restarts("host1", 8, 12);
  EXPECT_TRUE(Found().empty());
}

TEST_F(RailTest, AHostThatRestartsTwiceIsNoFault) {
  Restarts("host1", 3, 6);
  Restarts("host1", 11, 15);
  EXPECT_TRUE(Found().empty());
}

// The NICs were down in no common window, so that no window shows whether the GPUs were down too.
TEST_F(RailTest, WithoutACommonWindowTheOrderOfTheNicsDoesNotMatter) {
  const auto nics = fabric_.NicsOf(Node("host1"));
  const auto goes_down = [&](topology::NicIndex nic, size_t first, size_t last, uint64_t up) {
    const topology::PortIndex peer = fabric_.Peer(fabric_.nic(nic).port);
    for (size_t w = first; w <= last; ++w) Says(peer, Metric::kLinkUp, w, up);
  };
  for (const topology::NicIndex nic : nics) SkipsReadings(OfNic(nic), 8, 16);
  for (const topology::NicIndex brief : nics) {
    for (const topology::NicIndex nic : nics) {
      goes_down(nic, 8, 16, 1);
      goes_down(nic, nic == brief ? 8 : 10, nic == brief ? 8 : 16, 0);
    }
    EXPECT_TRUE(Found().empty()) << fabric_.nic(brief).device;
  }
}

TEST_F(RailTest, ALeafThatGoesDownDoesNotHideThatAHostRestarts) {
  GoesDown(Node("leaf3"), 7, kWindows - 1);
  Restarts("host1", 8, 12);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
}

TEST_F(RailTest, ANicThatFailsWithALeafIsNoRestart) {
  GoesDown(Node("leaf3"), 7, kWindows - 1);
  const topology::PortIndex own = fabric_.nic(fabric_.NicsOf(Node("host1"))[0]).port;
  for (size_t w = 8; w <= 12; ++w) Says(fabric_.Peer(own), Metric::kLinkUp, w, 0);
  SkipsReadings(EntityOf(own), 8, 12);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].kind, FaultKind::kNicCrash);
}

TEST_F(MaintenanceTest, PortThatReceivesPacketsIsNotDisabled) {
  const topology::PortIndex port = Port("leaf0", "spine1");
  for (size_t w = 0; w < kWindows; ++w) {
    Says(port, Metric::kAdminUp, w, 0);
    if (w < 12) Carries(fabric_.Peer(port), w, 5000);
  }
  IsDown("leaf0", "spine1", 12, kWindows - 1);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kLinkDown);
}

}  // namespace
}  // namespace rocescope
