// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/sflow_plan.h"

#include "appliance/cli/plan/plan_fixture.h"

namespace rocescope::plan {
namespace {

SflowPlan PlanOf(const topology::Fabric& fabric, const PlanOptions& options) {
  const Settings settings = *SettingsOf(options);
  return PlanSflow(fabric, options, settings,
                   PlanMirrors(fabric, options, settings, MirrorChoice::kNics));
}

// 128 + 2 * 128 ports with 1.25 packets for each 4154 + 24 + 86 / 4 bytes, half the time.
TEST(SflowPlanTest, SamplesStayWithinTheBudget) {
  const SflowPlan plan = PlanOf(LeafSpine(), CollectorsOf(kGigabit));

  ASSERT_EQ(plan.rates.size(), 1u);
  EXPECT_EQ(plan.rates[0].ports, 384u);
  const double packets = 384 * 0.5 * 1.25 * 100e9 / 8 / 4199.5;
  EXPECT_EQ(plan.rates[0].one_in, 131'072u);  // packets / 10,000 is 71,437
  EXPECT_NEAR(plan.samples_per_second, packets / 131'072, 1e-6);
  EXPECT_LE(plan.samples_per_second, 10'000);
  EXPECT_EQ(plan.switches.size(), 24u);
}

TEST(SflowPlanTest, PortsOfEachSpeedGiveEquallyManySamples) {
  const topology::Fabric fabric = *topology::Generate(
      {.hosts = 16, .leaves = 2, .spines = 2, .fabric_bits_per_second = 400 * kGigabit});
  const SflowPlan plan = PlanOf(fabric, CollectorsOf(kGigabit));

  ASSERT_EQ(plan.rates.size(), 2u);
  EXPECT_EQ(plan.RateOf(400 * kGigabit), 4 * plan.RateOf(100 * kGigabit));
  EXPECT_DOUBLE_EQ(plan.rates[0].samples_per_second / static_cast<double>(plan.rates[0].ports),
                   plan.rates[1].samples_per_second / static_cast<double>(plan.rates[1].ports));
}

TEST(SflowPlanTest, OneRateForAllWhereASwitchHasOne) {
  const topology::Fabric fabric = *topology::Generate(
      {.hosts = 16, .leaves = 2, .spines = 2, .fabric_bits_per_second = 400 * kGigabit});
  PlanOptions options = CollectorsOf(kGigabit);
  options.vendor = Vendor::kEos;
  const SflowPlan plan = PlanOf(fabric, options);
  EXPECT_EQ(plan.RateOf(400 * kGigabit), plan.RateOf(100 * kGigabit));
  EXPECT_LE(plan.samples_per_second, 10'000);
}

TEST(SflowPlanTest, ARateIsNeverBelowThePlatforms) {
  PlanOptions options = CollectorsOf(kGigabit);
  options.samples_per_second = 10'000'000;
  options.vendor = Vendor::kEos;
  EXPECT_EQ(PlanOf(TwoHosts(), options).rates.at(0).one_in, 16'384u);
  options.vendor = Vendor::kSonic;
  EXPECT_EQ(PlanOf(TwoHosts(), options).rates.at(0).one_in, 256u);
}

TEST(SflowPlanTest, NxosSamplesWhereItDoesNotMirror) {
  PlanOptions options = CollectorsOf(kGigabit);
  options.vendor = Vendor::kNxos;
  const SflowPlan plan = PlanOf(LeafSpine(), options);
  EXPECT_EQ(plan.mirroring.size(), 8u);
  EXPECT_EQ(plan.switches.size(), 16u);
}

TEST(SflowPlanTest, ASwitchThatTheFabricDoesNotNameIsLeftOut) {
  auto parts = LeafSpine().parts();
  for (topology::Node& node : parts.nodes) {
    if (node.name == "spine3") node.sflow_agent = {};
  }
  const SflowPlan plan = PlanOf(*topology::Fabric::Make(parts), CollectorsOf(kGigabit));
  EXPECT_EQ(plan.unnamed.size(), 1u);
  EXPECT_EQ(plan.switches.size(), 23u);
}

}  // namespace
}  // namespace rocescope::plan
