// SPDX-License-Identifier: BSD-3-Clause
// The expected values are computed by hand from the figures in docs/sizing.md. A port of 100 Gbit/s
// has 100e9 / 8 / 4199.5 * 1.25 = 3.72 million packets/s: 4154 bytes, 24 on the wire, and a quarter
// of an ACK of 86 bytes.
#include "appliance/cli/plan/machine_need.h"

#include <gmock/gmock.h>

#include "appliance/cli/plan/plan_fixture.h"
#include "appliance/common/config/config.h"

namespace rocescope::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

MachineNeed NeedOfChoice(const PlanOptions& options, MirrorChoice choice) {
  return PlanMirrors(LeafSpine(), options, *SettingsOf(options), choice).need;
}

PlanOptions AtOnePercent() {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.utilisation = 0.01;
  return options;
}

TEST(MachineNeedTest, CoresAreThoseOfThePacketRate) {
  // 128 ports: 4.76 million packets/s, at 2 million for each core.
  const MachineNeed need = NeedOfChoice(AtOnePercent(), MirrorChoice::kNics);
  ASSERT_EQ(need.collectors.size(), 1u);
  EXPECT_NEAR(need.collectors[0].packets_per_second, 4.762e6, 1e3);
  EXPECT_EQ(need.collectors[0].cores, 4u);        // 4.76 * 1.5 / 2 = 3.6
  EXPECT_EQ(need.collectors[0].least_cores, 3u);  // 4.76 / 2 = 2.4
  EXPECT_EQ(need.cores, 6u);
  EXPECT_EQ(need.least_cores, 4u);
}

TEST(MachineNeedTest, MemoryIsThatOfCoresFlowsTopologyAndCounters) {
  const MachineNeed need = NeedOfChoice(AtOnePercent(), MirrorChoice::kNics);
  EXPECT_EQ(need.flows, 128u * 64);
  // 256 links, and 384 connected switch ports with 13 series.
  const uint64_t state = 128'000'000 + 8'192 * 8'000 + 256 * 8'192 + 384 * 13 * 16'384;
  ASSERT_EQ(state, 277'422'080u);
  EXPECT_EQ(need.least_memory_bytes, state + 3 * 630'000'000u);
  EXPECT_EQ(need.budget_bytes, 3'729'896'107u);  // (state + 4 * 630e6) * 4 / 3
  EXPECT_EQ(need.memory_bytes, 4'973'194'810u);  // * 4 / 3
}

TEST(MachineNeedTest, TheHistoryHasEachDirectionAndMinute) {
  // 512 directions, 14 days of 1,440 minutes, 6 bytes.
  EXPECT_EQ(NeedOfChoice(AtOnePercent(), MirrorChoice::kNics).history_bytes, 61'931'520u);
}

TEST(MachineNeedTest, FlowsAreThoseOfTheNics) {
  const PlanOptions options = CollectorsOf(kGigabit);
  // Each flow is observed at its sender and at its receiver, and needs memory for both.
  const MachineNeed both = NeedOfChoice(options, MirrorChoice::kNicsBoth);
  const MachineNeed one = NeedOfChoice(options, MirrorChoice::kNics);
  EXPECT_EQ(one.flows, 128u * 64);
  EXPECT_EQ(both.flows, one.flows);
  EXPECT_EQ(both.least_memory_bytes - one.least_memory_bytes, 128u * 64 * 8'000);
  EXPECT_EQ(NeedOfChoice(options, MirrorChoice::kSecondLeaves).flows, 64u * 64);
  // The leaf of the collector does not mirror its uplinks.
  EXPECT_EQ(NeedOfChoice(options, MirrorChoice::kUplinks).flows, 7 * 16u * 64);
}

TEST(MachineNeedTest, AMachineIsComparedWithAndWithoutMargin) {
  PlanOptions options = AtOnePercent();
  const MachineNeed need = NeedOfChoice(options, MirrorChoice::kNics);
  EXPECT_TRUE(need.FitsIn(options));
  options.cores = 6;
  options.memory = 4'973'194'810;
  EXPECT_TRUE(need.FitsIn(options));
  options.cores = 5;
  EXPECT_FALSE(need.FitsIn(options));
  EXPECT_TRUE(need.BarelyFitsIn(options));
  options.cores = 3;
  EXPECT_FALSE(need.BarelyFitsIn(options));
  options.cores = 6;
  options.memory = 2'167'422'079;
  EXPECT_FALSE(need.BarelyFitsIn(options));
}

TEST(MachineNeedTest, TheAutomaticChoiceFitsTheMachine) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  EXPECT_EQ(MakePlan(LeafSpine(), options)->mirrors()->choice, MirrorChoice::kNicsBoth);
  options.cores = 16;
  const Plan plan = *MakePlan(LeafSpine(), options);
  EXPECT_EQ(plan.mirrors()->choice, MirrorChoice::kSomeNics);
  // One port of each leaf: 8 * 1.86 = 14.9 million packets/s need 11.2 cores; two ports, 22.3.
  EXPECT_EQ(plan.mirrors()->ports, 8u);
  EXPECT_EQ(plan.need().cores, 14u);
  EXPECT_THAT(plan.warnings, Not(Contains(HasSubstr("--cores"))));
}

TEST(MachineNeedTest, ARequestedChoiceThatNeedsTheMarginIsWarnedOf) {
  // 238 million packets/s: 119.1 cores without the safety factor, 178.6 with it.
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.choice = MirrorChoice::kNics;
  options.cores = 150;
  const Plan plan = *MakePlan(LeafSpine(), options);
  EXPECT_THAT(plan.warnings,
              Contains(AllOf(HasSubstr("181 cores are needed"),
                             HasSubstr("has 150 (--cores), 31 too few"), HasSubstr("--sample"))));
  options.cores = 181;
  EXPECT_THAT(MakePlan(LeafSpine(), options)->warnings, Not(Contains(HasSubstr("--cores"))));
}

TEST(MachineNeedTest, ARequestedChoiceThatCannotFitIsRefused) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.choice = MirrorChoice::kNics;
  options.cores = 16;
  auto plan = MakePlan(LeafSpine(), options);
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message,
              AllOf(HasSubstr("--mirror nics: 121 cores are needed"), HasSubstr("105 too few"),
                    HasSubstr("238 million packets/s"), HasSubstr("--sample")));
  options.vendor = Vendor::kNxos;
  EXPECT_THAT(MakePlan(LeafSpine(), options).error().message, HasSubstr("cannot sample mirrors"));
  options.cores.reset();
  options.memory = uint64_t{1} << 30;
  EXPECT_THAT(
      MakePlan(LeafSpine(), options).error().message,
      AllOf(HasSubstr("1.1 GB (--memory)"), HasSubstr("too little"), HasSubstr("--queue-pairs")));
}

TEST(MachineNeedTest, LimitsOfOneApplianceAreWarnedOf) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.queue_pairs = 10'000;
  EXPECT_THAT(MakePlan(LeafSpine(), options)->warnings,
              AllOf(Contains(HasSubstr("receives with at most 64")),
                    Contains(HasSubstr("1,280,000 flows are expected")),
                    Contains(HasSubstr("eth0 receives 476 million packets/s"))));
  options = AtOnePercent();
  options.utilisation = 0.001;
  EXPECT_THAT(MakePlan(LeafSpine(), options)->warnings, IsEmpty());
}

TEST(MachineNeedTest, TheConfigurationHasTheMemoryAndLcoresOfThePlan) {
  PlanOptions options = AtOnePercent();
  options.collectors[0].interface = "0000:3b:00.0";
  options.telemetry = IpAddress::FromV4(0xac1f0009);
  options.choice = MirrorChoice::kNics;
  options.queue_pairs = 7'000;  // 896,000 flows: 7.2 GB, 10 GB in use
  options.cores = 8;
  const Plan plan = *MakePlan(LeafSpine(), options);
  const auto config = ParseConfig(ApplianceYaml(plan, "fabric.yaml"), "appliance.yaml");
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->dpdk.lcores, 4u);
  EXPECT_GE(config->memory, plan.need().budget_bytes);
  EXPECT_EQ(config->memory, uint64_t{13} << 30);  // 9.9 GB * 4 / 3 = 13.2 GB = 12.3 GiB
}

}  // namespace
}  // namespace rocescope::plan
