// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/plausible.h"

#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

using topology::Fabric;

class PlausibleTest : public testing::Test {
 protected:
  double Most(Metric metric, uint8_t priority = CounterEntity::kAllPriorities) const {
    const Entity entity{.kind = EntityKind::kPort,
                        .index = fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet1"),
                        .priority = priority};
    return MostGrowthANanosecond(entity, metric, RatesOf(fabric_, entity));
  }

  const Fabric fabric_ = topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value();
  const double bytes_a_ns_ = static_cast<double>(fabric_.link(0).bits_per_second) / 8e9;
};

TEST_F(PlausibleTest, ALinkCarriesNoMoreThanItsRateAndSlackForAWrongTopology) {
  EXPECT_GE(Most(Metric::kTxBytes), bytes_a_ns_);
  EXPECT_LE(Most(Metric::kTxBytes), 10 * bytes_a_ns_);
  // IEEE 802.3: a frame and the following gap take at least the time of 84 bytes.
  EXPECT_GE(Most(Metric::kFcsErrors), bytes_a_ns_ / 84);
  EXPECT_LE(Most(Metric::kFcsErrors), 10 * bytes_a_ns_ / 84);
}

TEST_F(PlausibleTest, DropsBeforeALinkMayComeFromAllOtherLinks) {
  const auto ports = static_cast<double>(fabric_.PortsOf(fabric_.FindNode("leaf0")).size());
  EXPECT_NEAR(Most(Metric::kQueueDrops), ports * Most(Metric::kTxPackets), 1e-6);
}

TEST_F(PlausibleTest, PauseTimeIsAtMostElapsedTime) {
  EXPECT_EQ(Most(Metric::kPfcRxTime, 3), 1.0);
  EXPECT_EQ(Most(Metric::kPfcRxTime), 8.0) << "of all priorities";
}

TEST_F(PlausibleTest, LinkDownsAreLimitedByTheTimeToComeUp) {
  EXPECT_LT(Most(Metric::kLinkFlaps) * 1e6, 1000) << "in a millisecond";
}

TEST_F(PlausibleTest, GaugesHaveBounds) {
  EXPECT_FALSE(IsPossibleGauge(Metric::kGpuClock, 0));
  EXPECT_FALSE(IsPossibleGauge(Metric::kGpuClock, 1980)) << "of MHz";
  EXPECT_TRUE(IsPossibleGauge(Metric::kGpuClock, 1'980'000'000));
  EXPECT_FALSE(IsPossibleGauge(Metric::kLinkSpeed, 400)) << "of Gb/s";
  EXPECT_TRUE(IsPossibleGauge(Metric::kLinkSpeed, 0)) << "of a port without a cable";
  EXPECT_FALSE(IsPossibleGauge(Metric::kGpuUtilisation, 101));
  EXPECT_TRUE(IsPossibleGauge(Metric::kLinkUp, 0));
  EXPECT_FALSE(IsPossibleGauge(Metric::kLinkUp, UINT64_MAX));
  EXPECT_TRUE(IsPossibleGauge(Metric::kLinkSpeed, 1'600'000'000'000));
  EXPECT_FALSE(IsPossibleGauge(Metric::kQueueWatermark, UINT64_MAX));
  EXPECT_TRUE(IsPossibleGauge(Metric::kMemoryTotal, uint64_t{2} << 40));
}

}  // namespace
}  // namespace rocescope
