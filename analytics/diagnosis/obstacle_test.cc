// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/obstacle.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "analytics/diagnosis/diagnose.h"
#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

class ObstacleTest : public DiagnosisTest {
 protected:
  static CounterEntity Port1() {
    return {.kind = EntityKind::kPort, .node = "leaf0", .port = "Ethernet1"};
  }
  // Readings of one counter, so far apart.
  MetricStore ReadEvery(Duration period, size_t windows) const {
    MetricStore metrics(fabric_, {.window = kWindow});
    uint64_t value = 0;
    for (Timestamp at = Begin(0); at <= End(windows - 1); at += period) {
      metrics.Add(
          {.entity = Port1(), .metric = Metric::kTxBytes, .value = ++value, .event_time = at});
    }
    return metrics;
  }
  IpAddress Known(uint32_t nic) const { return fabric_.nic(nic).addresses[0].address; }
  static IpAddress Stranger(uint32_t number) { return IpAddress::FromV4(0xc6336400 + number); }
  void Talk(const IpAddress& source, const IpAddress& destination) {
    FlowSummary flow = {.flow = {.source = source, .destination = destination}};
    flow.total.first_seen = Begin(0);
    flow.total.last_seen = End(1);
    flows_.push_back(flow);
  }
};

TEST_F(ObstacleTest, NothingHindersAnOrdinaryInput) {
  EXPECT_EQ(In(HindranceTo).obstacle, Obstacle::kNone);
}

TEST_F(ObstacleTest, ReadingsOncePerWindowSuffice) {
  const Hindrance hindrance = In(ReadEvery(kWindow, 20), HindranceTo);
  EXPECT_EQ(hindrance.obstacle, Obstacle::kNone);
  EXPECT_EQ(hindrance.reading_period, kWindow);
}

TEST_F(ObstacleTest, ReadingsEveryFourWindowsDoNot) {
  const Hindrance hindrance = In(ReadEvery(4 * kWindow, 40), HindranceTo);
  EXPECT_EQ(hindrance.obstacle, Obstacle::kSparseReadings);
  EXPECT_GT(hindrance.reading_period, 3 * kWindow);
  EXPECT_LT(hindrance.reading_period, 5 * kWindow);
}

// The neighbours of a crashed switch are read every four windows, each at another time.
TEST_F(ObstacleTest, LinksThatAreDownAreFoundThough) {
  MetricStore metrics = ReadEvery(4 * kWindow, 40);
  for (Duration phase{}; phase < 4 * kWindow; phase += kWindow) {
    const std::string leaf = "leaf" + std::to_string(phase / kWindow);
    for (Timestamp at = Begin(0) + phase; at <= End(39); at += 4 * kWindow) {
      for (const char* spine : {"spine0", "spine1"}) {
        const bool up = spine == std::string_view("spine0") || at < Begin(20);
        metrics.Add({.entity = {.kind = EntityKind::kPort,
                                .node = leaf,
                                .port = fabric_.port(Port(leaf, spine)).name},
                     .metric = Metric::kLinkUp,
                     .value = up,
                     .event_time = at});
      }
    }
  }
  const Findings found = Diagnosed(metrics);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_EQ(found[0].place, Switch("spine1"));
  EXPECT_EQ(In(metrics, HindranceTo).obstacle, Obstacle::kSparseReadings);
}

// Readings are skipped before the stored windows too.
TEST_F(ObstacleTest, FlapsThatAreReadRarelyAreFound) {
  MetricStore metrics(fabric_, {.window = kWindow});
  const topology::PortIndex port = Port("leaf0", "spine0");
  constexpr int kReadings = 40;
  for (int i = 0; i < kReadings; ++i) {
    const auto report = [&](Metric metric, uint64_t value) {
      metrics.Add(
          {.entity = {.kind = EntityKind::kPort, .node = "leaf0", .port = fabric_.port(port).name},
           .metric = metric,
           .value = value,
           .event_time = Begin(0) + i * 10 * kWindow});
    };
    report(Metric::kLinkUp, 1);
    report(Metric::kLinkFlaps, i < kReadings / 2 ? 7 : 9);
  }
  const Findings found = Diagnosed(metrics);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kFlap);
}

TEST_F(ObstacleTest, AGapLongerThanTheStoredWindowsIsNotShortened) {
  constexpr Duration kGap = std::chrono::hours(24 * 365 * 56);
  MetricStore metrics(fabric_, {.window = kWindow});
  const auto read = [&](Timestamp at, uint64_t value) {
    metrics.Add({.entity = Port1(), .metric = Metric::kTxBytes, .value = value, .event_time = at});
  };
  read(Begin(0), 1);
  read(Begin(0) + kGap, 2);
  EXPECT_EQ(In(metrics, HindranceTo).reading_period, kGap);
  for (int i = 1; i <= 3; ++i) read(Begin(0) + kGap + 100 * i * kWindow, 2);
  EXPECT_EQ(In(metrics, HindranceTo).reading_period, 100 * kWindow) << "in the stored windows";
}

TEST_F(ObstacleTest, ThreeWindowsAreTooFew) {
  EXPECT_EQ(In(ReadEvery(kWindow, 3), HindranceTo).obstacle, Obstacle::kFewWindows);
  EXPECT_EQ(In(ReadEvery(kWindow, 4), HindranceTo).obstacle, Obstacle::kNone);
}

TEST_F(ObstacleTest, CountersOfAnotherTimeThanThePacketsSayNothingOfThem) {
  Talk(Known(0), Known(1));
  flows_.back().total.first_seen = Begin(30);
  flows_.back().total.last_seen = End(31);
  EXPECT_EQ(In(ReadEvery(kWindow, 20), HindranceTo).obstacle, Obstacle::kOtherTime);
  flows_.back().total.first_seen = Begin(19);
  EXPECT_EQ(In(ReadEvery(kWindow, 20), HindranceTo).obstacle, Obstacle::kNone);
}

TEST_F(ObstacleTest, ATopologyWithoutMostOfTheAddressesIsAnothers) {
  for (uint32_t i = 0; i < 4; ++i) Talk(Stranger(i), Known(i));
  EXPECT_EQ(In(HindranceTo).obstacle, Obstacle::kNone) << "half of them";
  Talk(Stranger(4), Known(0));
  const Hindrance hindrance = In(HindranceTo);
  EXPECT_EQ(hindrance.obstacle, Obstacle::kForeignTopology);
  EXPECT_EQ(hindrance.addresses, 9u);
  EXPECT_EQ(hindrance.addresses_known, 4u);
}

TEST_F(ObstacleTest, ATopologyWithManyContradictedLinksIsAnothers) {
  cabling_ = {.links = 40, .confirmed = 24, .contradicted = 7};
  EXPECT_EQ(In(HindranceTo).obstacle, Obstacle::kNone) << "a few swapped cables";
  cabling_.contradicted = 8;
  const Hindrance hindrance = In(HindranceTo);
  EXPECT_EQ(hindrance.obstacle, Obstacle::kForeignTopology);
  EXPECT_EQ(hindrance.links_confirmed, 24u);
  EXPECT_EQ(hindrance.links_contradicted, 8u);
  cabling_.confirmed = 25;
  EXPECT_EQ(In(HindranceTo).obstacle, Obstacle::kNone) << "most are confirmed";
}

TEST_F(ObstacleTest, OfAnothersFabricNothingIsFound) {
  for (size_t w = 3; w < kWindows; ++w) Says(Port("leaf0", "spine0"), Metric::kLinkUp, w, 0);
  ASSERT_FALSE(Diagnosed().empty());
  Talk(Stranger(0), Stranger(1));
  EXPECT_TRUE(Diagnosed().empty());
}

}  // namespace
}  // namespace rocescope
