// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/plan.h"

#include <gmock/gmock.h>

#include "appliance/cli/plan/plan_fixture.h"
#include "appliance/common/config/config.h"
#include "topology/yaml.h"

namespace rocescope::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string MistakeOf(const topology::Fabric& fabric, const PlanOptions& options) {
  const auto plan = MakePlan(fabric, options);
  return plan ? "" : plan.error().message;
}

MirrorChoice ChosenOf(const PlanOptions& options) {
  return MakePlan(LeafSpine(), options)->mirrors()->choice;
}

// All ports in both directions need 765 Gbit/s at half of line rate, which is 850 at nine tenths of
// a collector.
TEST(PlanTest, SelectsTheBestCoverageThatFits) {
  EXPECT_EQ(ChosenOf(CollectorsOf(851 * kGigabit)), MirrorChoice::kNicsBoth);
  EXPECT_EQ(ChosenOf(CollectorsOf(849 * kGigabit)), MirrorChoice::kNics);
  EXPECT_EQ(ChosenOf(CollectorsOf(400 * kGigabit)), MirrorChoice::kSecondLeaves);
  EXPECT_EQ(ChosenOf(CollectorsOf(100 * kGigabit)), MirrorChoice::kSomeNics);
}

TEST(PlanTest, CopiesWithoutADirectionAreTakenOneWay) {
  PlanOptions options = CollectorsOf(10'000 * kGigabit);
  options.vendor = Vendor::kEos;
  const Plan plan = *MakePlan(LeafSpine(), options);
  EXPECT_EQ(plan.mirrors()->choice, MirrorChoice::kNics);
  EXPECT_EQ(plan.mirrors()->sessions[0].tap.session, 0u);
  EXPECT_FALSE(plan.mirrors()->sessions[0].tap.names_port);
}

TEST(PlanTest, NothingFitsIsAnAnswer) {
  const Plan plan = *MakePlan(LeafSpine(), CollectorsOf(kGigabit));
  EXPECT_EQ(plan.mirrors(), nullptr);
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("No choice fits")));
  EXPECT_EQ(*MirrorsSection(LeafSpine(), plan), "");
}

TEST(PlanTest, ARequestedChoiceThatDoesNotFitIsNoted) {
  PlanOptions options = CollectorsOf(100 * kGigabit);
  options.choice = MirrorChoice::kNics;
  const Plan plan = *MakePlan(LeafSpine(), options);
  EXPECT_EQ(plan.mirrors()->choice, MirrorChoice::kNics);
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("The choice does not fit")));
  // 383 Gbit/s fit into 90 with a divisor of 5, rounded up to a power of two.
  EXPECT_EQ(plan.nics_fit_sampled, 8u);
  options.one_in = 8;
  EXPECT_TRUE(MakePlan(LeafSpine(), options)->mirrors()->Fits());
}

TEST(PlanTest, PastedMirrorsLoadBack) {
  const topology::Fabric fabric = LeafSpine();
  for (const Vendor vendor : {Vendor::kNone, Vendor::kSonic, Vendor::kEos, Vendor::kNxos}) {
    for (size_t i = 0; i < kChoiceCount; ++i) {
      PlanOptions options = CollectorsOf(100'000 * kGigabit);
      options.vendor = vendor;
      options.choice = static_cast<MirrorChoice>(i);
      const Plan plan = *MakePlan(fabric, options);
      const auto section = MirrorsSection(fabric, plan);
      ASSERT_TRUE(section.has_value()) << section.error().message;

      const auto loaded = topology::LoadFabric(topology::WriteFabric(fabric) + *section, "f.yaml");

      ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
      ASSERT_EQ(loaded->taps().size(), plan.mirrors()->sessions.size());
      for (size_t k = 0; k < loaded->taps().size(); ++k) {
        const topology::Tap& planned = plan.mirrors()->sessions[k].tap;
        const topology::TapIndex found =
            loaded->FindTap(loaded->FindNode(fabric.node(planned.node).name), planned.session,
                            topology::TapDirection::kIngress);
        ASSERT_NE(found, topology::kNone);
        const topology::Tap& tap = loaded->tap(found);
        EXPECT_EQ(tap.names_port, planned.names_port);
        ASSERT_EQ(tap.ports.size(), planned.ports.size());
        EXPECT_EQ(loaded->NameOf(tap.ports.back()), fabric.NameOf(planned.ports.back()));
      }
    }
  }
}

TEST(PlanTest, TheAppliancesFileIsWhatItReads) {
  PlanOptions options = CollectorsOf(100 * kGigabit, 3);
  options.collectors[1].interface = "0000:3b:00.0";
  options.collectors[2].interface = "0000:3b:00.1";
  const Plan plan = *MakePlan(LeafSpine(), options);

  const auto config = ParseConfig(ApplianceYaml(plan, "fabric.yaml"), "appliance.yaml");

  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->topology, "fabric.yaml");
  ASSERT_EQ(config->interfaces.size(), 1u);
  EXPECT_EQ(config->interfaces[0].name, "eth0");
  EXPECT_EQ(config->interfaces[0].snap, 256u);  // 62 + 128 bytes, and tags
  EXPECT_EQ(config->dpdk.eal,
            (std::vector<std::string>{"-a", "0000:3b:00.0", "-a", "0000:3b:00.1"}));
  ASSERT_EQ(config->udp.sflow.size(), 1u);
  EXPECT_EQ(ToString(config->udp.sflow[0]), "172.31.0.1:6343");
  EXPECT_EQ(ToString(config->udp.int_reports.at(0)), "172.31.0.1:32766");
}

TEST(PlanTest, TheAnalysisWindowHasAReadingOfEachCounter) {
  for (const Vendor vendor : {Vendor::kNone, Vendor::kSonic, Vendor::kEos, Vendor::kNxos}) {
    for (const uint32_t polling : {5u, 20u, 300u}) {
      PlanOptions options = CollectorsOf(100 * kGigabit);
      options.vendor = vendor;
      options.polling_seconds = polling;
      const Plan plan = *MakePlan(LeafSpine(), options);
      ASSERT_FALSE(plan.sflow.switches.empty());
      const auto config = ParseConfig(ApplianceYaml(plan, "f.yaml"), "appliance.yaml");
      ASSERT_TRUE(config.has_value()) << config.error().message;
      EXPECT_EQ(config->analysis_window, std::chrono::seconds(polling));
    }
  }
}

TEST(PlanTest, WithoutSflowTheAnalysisWindowIsTheDefault) {
  PlanOptions options = CollectorsOf(100 * kGigabit);
  options.samples_per_second = 0;
  const std::string yaml = ApplianceYaml(*MakePlan(LeafSpine(), options), "f.yaml");
  EXPECT_EQ(ParseConfig(yaml, "a.yaml")->analysis_window, ApplianceConfig{}.analysis_window);
}

TEST(PlanTest, OfWholeCopiesTheApplianceTakesTheHeadersAlone) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.vendor = Vendor::kSonic;
  EXPECT_THAT(ApplianceYaml(*MakePlan(LeafSpine(), options), "f.yaml"), HasSubstr("snap: 192,"));
}

TEST(PlanTest, TelemetryGoesWhereTheKernelListens) {
  PlanOptions options = CollectorsOf(100 * kGigabit, 2);
  options.collectors[0].interface = "0000:3b:00.0";
  EXPECT_EQ(ToString(MakePlan(LeafSpine(), options)->options.telemetry), "172.31.0.2");
  options.collectors.resize(1);
  EXPECT_THAT(MistakeOf(LeafSpine(), options), HasSubstr("use --telemetry"));
}

TEST(PlanTest, ASwitchWithoutAnAddressForItsCopiesIsToldByName) {
  auto parts = LeafSpine().parts();
  for (topology::Node& node : parts.nodes) node.erspan_source = {};
  EXPECT_THAT(MistakeOf(*topology::Fabric::Make(parts), CollectorsOf(1'000 * kGigabit)),
              HasSubstr("no erspan_source for leaf0, leaf1, leaf2 and 5 more"));
}

TEST(PlanTest, ImpossibleNumbersAreRefused) {
  PlanOptions options = CollectorsOf(kGigabit);
  options.utilisation = 1.5;
  EXPECT_THAT(MistakeOf(LeafSpine(), options), HasSubstr("1.5"));
  EXPECT_THAT(MistakeOf(LeafSpine(), PlanOptions{}), HasSubstr("no collector"));
  options = CollectorsOf(1'000 * kGigabit);
  options.choice = MirrorChoice::kUplinks;  // for a star topology
  EXPECT_THAT(MistakeOf(TwoHosts(), options), HasSubstr("--mirror uplinks"));
}

}  // namespace
}  // namespace rocescope::plan
