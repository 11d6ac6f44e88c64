// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analytics/diagnosis/diagnosis_fixture.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

using testing::Contains;
using testing::Not;
using enum FaultKind;

class DiagnosisCoverageTest : public DiagnosisTest {
 protected:
  void TellsOfItsClock(topology::GpuIndex gpu) {
    for (const Metric metric : {Metric::kGpuClock, Metric::kMemoryTotal, Metric::kMemoryFree}) {
      Says(OfGpu(gpu), metric, 3, 1'000'000'000);
    }
  }
  bool CouldBeSeen(FaultKind kind) {
    const DiagnosisCoverage coverage = In(CoverageOf);
    return std::ranges::find(coverage.not_seen, kind) == coverage.not_seen.end();
  }
};

TEST_F(DiagnosisCoverageTest, CountsWhoToldSomething) {
  const DiagnosisCoverage coverage = In(CoverageOf);
  EXPECT_EQ(coverage.windows, kWindows);
  EXPECT_EQ(coverage.window, kWindow);
  EXPECT_EQ(coverage.switches, 6u);
  EXPECT_EQ(coverage.nics, 16u);
  EXPECT_EQ(coverage.gpus, 0u);
  EXPECT_EQ(coverage.flows, 0u);
  EXPECT_EQ(coverage.switches_of, 6u);
  EXPECT_EQ(coverage.nics_of, 16u);
  EXPECT_TRUE(coverage.silences.empty());
}

TEST_F(DiagnosisCoverageTest, NamesThoseWhoWereSilentWhileOthersWereNot) {
  for (const char* peer : {"host0", "host1", "host2", "host3", "spine0", "spine1"}) {
    FallsSilent(EntityOf(Port("leaf0", peer)), 16);
  }
  SkipsReadings(OfNic(NicOf("host5")), 3, 5);
  SkipsReadings(EntityOf(Port("leaf1", "spine0")), 3, 5);  // one port of several
  const std::vector<Silence> expected = {{.node = Node("leaf0"), .windows = 4},
                                         {.node = Node("host5"), .windows = 3}};
  EXPECT_EQ(In(CoverageOf).silences, expected);
}

TEST_F(DiagnosisCoverageTest, ANodeThatIsReadLessOftenIsNotSilent) {
  for (size_t w = 0; w + 2 < kWindows; w += 3) SkipsReadings(OfNic(NicOf("host5")), w, w + 1);
  EXPECT_TRUE(In(CoverageOf).silences.empty());
}

TEST_F(DiagnosisCoverageTest, ANodeThatIsReadLessOftenIsSilentAfterAMissingReading) {
  const Entity nic = OfNic(NicOf("host5"));
  for (const size_t w : {0u, 3u, 12u, 15u}) SkipsReadings(nic, w, w + 1);
  SkipsReadings(nic, 6, 10);
  const std::vector<Silence> expected = {{.node = Node("host5"), .windows = 3}};
  EXPECT_EQ(In(CoverageOf).silences, expected);
}

TEST_F(DiagnosisCoverageTest, KindsOfWhichNobodyTellsCouldNotHaveBeenFound) {
  const DiagnosisCoverage before = In(CoverageOf);
  EXPECT_THAT(before.not_seen, Not(Contains(kLinkDown)));
  EXPECT_THAT(before.not_seen, Not(Contains(kGrayLoss)));
  EXPECT_THAT(before.not_seen, Contains(kPfcStorm));
  EXPECT_THAT(before.not_seen, Contains(kStraggler));
  EXPECT_THAT(before.not_seen, Contains(kPolarisation));
  Grows(Port("leaf0", "host0"), Metric::kPfcRxTime, 3, 0, kRoce);
  for (const topology::GpuIndex gpu : {0, 1, 2}) TellsOfItsClock(gpu);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 1);
  const DiagnosisCoverage after = In(CoverageOf);
  EXPECT_THAT(after.not_seen, Not(Contains(kPfcStorm)));
  EXPECT_THAT(after.not_seen, Not(Contains(kStraggler)));
  EXPECT_THAT(after.not_seen, Not(Contains(kPolarisation)));
  EXPECT_EQ(after.gpus, 3u);
  EXPECT_EQ(after.flows, 1u);
}

// 16 links of hosts and 8 between switches.
TEST_F(DiagnosisCoverageTest, CountsLinksWithPacketCountersOfBothEnds) {
  EXPECT_EQ(In(CoverageOf).links, 24u);
  EXPECT_EQ(In(CoverageOf).links_counted, 24u);
  for (const Metric metric : {Metric::kTxPackets, Metric::kRxPackets}) {
    NeverTells(EntityOf(Port("leaf0", "spine0")), metric);
  }
  EXPECT_EQ(In(CoverageOf).links_counted, 23u);
  NeverTells(EntityOf(Port("leaf0", "spine1")), Metric::kTxPackets);
  EXPECT_EQ(In(CoverageOf).links_counted, 23u) << "the other direction is reported";
}

// Each link has one end at a leaf. Readings at different times bound the number of lost frames.
TEST_F(DiagnosisCoverageTest, SilentLossIsDetectableIfTheEndsAreReadAtDifferentTimes) {
  Says(Port("spine0", "leaf0"), Metric::kQueueBytes, 3, 0, kRoce);
  EXPECT_TRUE(CouldBeSeen(kGrayLoss));
  EXPECT_TRUE(CouldBeSeen(kBlackhole));
  EXPECT_TRUE(CouldBeSeen(kSwappedCables));
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    if (fabric_.node(fabric_.port(port).node).tier == topology::Tier::kLeaf)
      FallsSilent(EntityOf(port), 18);
  }
  EXPECT_EQ(In(CoverageOf).links_counted, 24u);
  EXPECT_TRUE(CouldBeSeen(kGrayLoss));
  EXPECT_FALSE(CouldBeSeen(kSwappedCables));
  EXPECT_TRUE(CouldBeSeen(kBlackhole)) << "a spine's own ports are read at one moment";
  FallsSilent(EntityOf(Port("spine0", "leaf1")), 18);
  EXPECT_FALSE(CouldBeSeen(kBlackhole));
}

// No port counts packets.
class NoPacketCountersTest : public DiagnosisCoverageTest {
 protected:
  NoPacketCountersTest() {
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      NeverTells(EntityOf(port), Metric::kTxPackets);
      NeverTells(EntityOf(port), Metric::kRxPackets);
    }
  }
};

TEST_F(NoPacketCountersTest, LossCountersOfNicsAndPathsCanShowSilentLoss) {
  EXPECT_FALSE(CouldBeSeen(kGrayLoss));
  Grows(OfNic(NicOf("host0")), Metric::kPacketSequenceError, 3, 0);
  Grows(OfNic(NicOf("host4")), Metric::kOutOfSequence, 3, 0);
  EXPECT_FALSE(CouldBeSeen(kGrayLoss)) << "no paths are known";
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 1);
  EXPECT_TRUE(CouldBeSeen(kGrayLoss));
}

TEST_F(NoPacketCountersTest, PathsAloneDoNotShowSilentLoss) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 1);
  EXPECT_FALSE(CouldBeSeen(kGrayLoss));
}

TEST_F(DiagnosisCoverageTest, AStragglerTakesClocksAndMemoryOfThreeGpus) {
  TellsOfItsClock(0);
  TellsOfItsClock(1);
  Says(OfGpu(2), Metric::kGpuClock, 3, 1'000'000'000);
  EXPECT_FALSE(CouldBeSeen(kStraggler));
  TellsOfItsClock(2);
  EXPECT_TRUE(CouldBeSeen(kStraggler));
}

TEST_F(DiagnosisCoverageTest, ThresholdsTakeWhatOneQueueHoldsAndDoes) {
  Says(Port("leaf0", "spine0"), Metric::kQueueWatermark, 3, 1, kRoce);
  Grows(Port("leaf0", "spine1"), Metric::kEcnMarked, 3, 1, kRoce);
  Says(Port("leaf0", "spine0"), Metric::kBufferWatermark, 3, 1, kRoce);
  Grows(Port("leaf0", "spine1"), Metric::kPfcTx, 3, 1, kRoce);
  EXPECT_FALSE(CouldBeSeen(kMisconfiguredEcn));
  EXPECT_FALSE(CouldBeSeen(kMisconfiguredAlpha));
  Grows(Port("leaf0", "spine0"), Metric::kEcnMarked, 3, 1, kRoce);
  Grows(Port("leaf0", "spine0"), Metric::kPfcTx, 3, 1, kRoce);
  EXPECT_TRUE(CouldBeSeen(kMisconfiguredEcn));
  EXPECT_TRUE(CouldBeSeen(kMisconfiguredAlpha));
}

TEST_F(DiagnosisCoverageTest, ASwitchMayReportLessThanOthers) {
  for (const char* leaf : {"leaf0", "leaf1"}) {
    Says(Port(leaf, "spine0"), Metric::kQueueWatermark, 3, 1, kRoce);
    Grows(Port(leaf, "spine0"), Metric::kEcnMarked, 3, 1, kRoce);
    Grows(Port(leaf, "spine0"), Metric::kPfcTx, 3, 1, kRoce);
    Grows(Port(leaf, "spine0"), Metric::kMtuDrops, 3, 1);
  }
  BlindSpot mtu = {.kind = kMtuMismatch};
  for (const char* name : {"leaf2", "leaf3", "spine0", "spine1"}) {
    mtu.switches.push_back(Node(name));
  }
  std::ranges::sort(mtu.switches);
  EXPECT_THAT(In(CoverageOf).blind_spots, testing::ElementsAre(mtu))
      << "the others report no priorities, and no switch reports buffers";
  Says(Port("leaf1", "spine0"), Metric::kBufferWatermark, 3, 1, kRoce);
  const BlindSpot alpha = {.kind = kMisconfiguredAlpha, .switches = {Node("leaf0")}};
  EXPECT_THAT(In(CoverageOf).blind_spots, testing::ElementsAre(alpha, mtu));
}

TEST_F(DiagnosisCoverageTest, PausesOfANicShowAtItsLinkAlone) {
  Grows(Port("leaf0", "spine0"), Metric::kPfcRxTime, 3, 0, kRoce);
  EXPECT_TRUE(CouldBeSeen(kPfcDeadlock));
  EXPECT_FALSE(CouldBeSeen(kPfcStorm));
  EXPECT_FALSE(CouldBeSeen(kSlowReceiver));
  Grows(OfNic(NicOf("host5")), Metric::kPfcTxTime, 3, 0);
  EXPECT_FALSE(CouldBeSeen(kPfcStorm)) << "of no priority";
  Grows(Port("host5", "leaf1"), Metric::kPfcTxTime, 3, 0, kRoce);
  EXPECT_TRUE(CouldBeSeen(kPfcStorm));
  EXPECT_TRUE(CouldBeSeen(kSlowReceiver));
}

TEST_F(DiagnosisCoverageTest, CnpsBehindDataTakeMoreThanDelaysOfData) {
  Takes(Way(DelayKind::kTransit, {"leaf0", "spine0"}), 3, 3, {.least = 1000, .count = 10});
  EXPECT_TRUE(CouldBeSeen(kAddedLatency));
  EXPECT_FALSE(CouldBeSeen(kDeprioritisedCnps));
  Takes(Way(DelayKind::kCnp, {"leaf0", "spine0"}), 3, 3, {.least = 1000, .count = 10});
  EXPECT_TRUE(CouldBeSeen(kDeprioritisedCnps));
}

TEST_F(DiagnosisCoverageTest, OneReadingOfACounterShowsNothing) {
  Grows(Port("leaf0", "spine0"), Metric::kMtuDrops, 3, 0);
  EXPECT_TRUE(CouldBeSeen(kMtuMismatch));
  MetricStore metrics(fabric_, {.window = kWindow});
  const CounterEntity name = {.kind = EntityKind::kPort,
                              .node = "leaf0",
                              .port = fabric_.port(Port("leaf0", "spine0")).name};
  metrics.Add({.entity = name, .metric = Metric::kMtuDrops, .event_time = Begin(0)});
  metrics.Add({.entity = name, .metric = Metric::kRxBytes, .event_time = Begin(0)});
  metrics.Add({.entity = name, .metric = Metric::kRxBytes, .event_time = End(3)});
  EXPECT_THAT(In(metrics, CoverageOf).not_seen, Contains(kMtuMismatch));
}

class NoLinksTest : public DiagnosisTest {
 protected:
  NoLinksTest()
      : DiagnosisTest(topology::LoadFabric(
                          "name: imported\n"
                          "switches: [{name: leaf0, tier: leaf, ports: [{name: E1, number: 1}]}]\n",
                          "topology.yaml")
                          .value()) {}
};

TEST_F(NoLinksTest, OnlyFaultsWithinANodeCouldBeFound) {
  MetricStore metrics(fabric_, {.window = kWindow});
  const CounterEntity port{.kind = EntityKind::kPort, .node = "leaf0", .port = "E1"};
  for (size_t window = 0; window < kWindows; ++window) {
    for (const Metric metric :
         {Metric::kLinkUp, Metric::kLinkSpeed, Metric::kFcsErrors, Metric::kMtuDrops}) {
      metrics.Add({.entity = port, .metric = metric, .value = 1, .event_time = End(window)});
    }
  }
  const DiagnosisCoverage coverage = In(metrics, CoverageOf);
  EXPECT_EQ(coverage.links, 0u);
  for (const FaultKind kind : {kLinkDown, kFlap, kDegradedRate, kBitErrors, kSwitchCrash}) {
    EXPECT_THAT(coverage.not_seen, Contains(kind));
  }
  EXPECT_THAT(coverage.not_seen, Not(Contains(kMtuMismatch)));
}

TEST_F(DiagnosisCoverageTest, SaysHowManyWindowsPassedBeforeThoseLookedAt) {
  EXPECT_EQ(In(CoverageOf).windows_before, 0u);
  MetricStore metrics(fabric_, {.window = kWindow});
  CounterRecord record{.entity = {.kind = EntityKind::kPort,
                                  .node = "leaf0",
                                  .port = fabric_.port(Port("leaf0", "spine0")).name},
                       .metric = Metric::kRxBytes,
                       .event_time = Begin(0)};
  metrics.Add(record);
  for (size_t window = 0; window < MetricSeries::kMaxWindows; ++window) {
    record.event_time = End(window);
    metrics.Add(record);
  }
  EXPECT_EQ(In(metrics, CoverageOf).windows_before, 0u);
  for (size_t window = MetricSeries::kMaxWindows; window < 300; ++window) {
    record.event_time = End(window);
    metrics.Add(record);
  }
  EXPECT_EQ(In(metrics, CoverageOf).windows, 256u);
  EXPECT_EQ(In(metrics, CoverageOf).windows_before, 44u);
}

}  // namespace
}  // namespace rocescope
