// SPDX-License-Identifier: BSD-3-Clause
// The expected values are counts over a fabric of 8 leaves with 16 NICs and 16 uplinks each.
#include "appliance/cli/plan/mirror_plan.h"

#include <set>

#include "appliance/cli/plan/plan_fixture.h"

namespace rocescope::plan {
namespace {

using topology::TapDirection;

MirrorPlan PlanOf(const PlanOptions& options, MirrorChoice choice) {
  return PlanMirrors(LeafSpine(), options, *SettingsOf(options), choice);
}

double LineRateOf(const MirrorPlan& plan) {
  double bits = 0;
  for (const CollectorLoad& load : plan.collectors) bits += load.line_rate.bits_per_second;
  return bits;
}

TEST(MirrorPlanTest, PortsToNicsAreASessionOfEachLeaf) {
  const MirrorPlan plan = PlanOf(CollectorsOf(kGigabit), MirrorChoice::kNics);

  ASSERT_EQ(plan.sessions.size(), 8u);
  EXPECT_EQ(plan.ports, 128u);
  for (const MirrorSession& session : plan.sessions) {
    EXPECT_EQ(session.tap.ports.size(), 16u);
    EXPECT_EQ(session.tap.session, 1u);
    EXPECT_EQ(session.tap.direction, TapDirection::kIngress);
    EXPECT_TRUE(session.tap.names_port);
  }
}

TEST(MirrorPlanTest, LoadIsThatOfItsPorts) {
  const PlanOptions options = CollectorsOf(kGigabit);
  const double one = CopiesAtLineRate(100 * kGigabit, {}).bits_per_second;
  EXPECT_NEAR(LineRateOf(PlanOf(options, MirrorChoice::kNics)), 128 * one, 1);
  EXPECT_NEAR(LineRateOf(PlanOf(options, MirrorChoice::kNicsBoth)), 256 * one, 1);
  EXPECT_NEAR(LineRateOf(PlanOf(options, MirrorChoice::kSecondLeaves)), 64 * one, 1);
  EXPECT_NEAR(LineRateOf(PlanOf(options, MirrorChoice::kUplinks)), 7 * 16 * one, 1);
}

TEST(MirrorPlanTest, CollectorsShareEvenlyAndASwitchHasOne) {
  const MirrorPlan plan = PlanOf(CollectorsOf(kGigabit, 4), MirrorChoice::kNics);
  for (const CollectorLoad& load : plan.collectors) EXPECT_EQ(load.sessions, 2u);
  EXPECT_NEAR(plan.fullest, LineRateOf(plan) / 4 * 0.5 / kGigabit, 1e-9);
}

TEST(MirrorPlanTest, AFasterCollectorGetsMore) {
  PlanOptions options = CollectorsOf(kGigabit, 2);
  options.collectors[1].bits_per_second = 3 * kGigabit;
  const MirrorPlan plan = PlanOf(options, MirrorChoice::kNics);
  EXPECT_EQ(plan.collectors[0].sessions, 2u);
  EXPECT_EQ(plan.collectors[1].sessions, 6u);
}

TEST(MirrorPlanTest, CopiesOfTheCollectorsOwnLeafStayThere) {
  const MirrorPlan plan = PlanOf(CollectorsOf(kGigabit), MirrorChoice::kNics);
  EXPECT_NEAR(plan.collectors[0].foreign_bits_per_second, LineRateOf(plan) * 7 / 8, 1);
}

TEST(MirrorPlanTest, SomeNicsAreAsManyAsFit) {
  PlanOptions options = CollectorsOf(100 * kGigabit);
  const double one = CopiesAtLineRate(100 * kGigabit, {}).bits_per_second * 0.5;
  const auto most = static_cast<size_t>(kFullShare * 100 * kGigabit / (8 * one));
  const MirrorPlan plan = PlanOf(options, MirrorChoice::kSomeNics);
  EXPECT_EQ(plan.ports, 8 * most);
  EXPECT_TRUE(plan.Fits());
  // The copies of five ports, one on each of five leaves.
  const auto five = static_cast<uint64_t>(5.5 * one / kFullShare);
  EXPECT_EQ(PlanOf(CollectorsOf(five), MirrorChoice::kSomeNics).sessions.size(), 5u);
  EXPECT_EQ(PlanOf(CollectorsOf(five), MirrorChoice::kSomeNics).ports, 5u);
  EXPECT_EQ(PlanOf(CollectorsOf(kGigabit / 10), MirrorChoice::kSomeNics).ports, 0u);
}

TEST(MirrorPlanTest, UplinksAreSplitOverSessionsWhereNothingElseTellsThem) {
  PlanOptions options = CollectorsOf(kGigabit);
  options.names_port = false;
  options.sessions = 5;
  const MirrorPlan plan = PlanOf(options, MirrorChoice::kUplinks);
  ASSERT_EQ(plan.sessions.size(), 7 * 5u);
  std::set<topology::PortIndex> ports;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(plan.sessions[i].tap.session, i + 1);
    EXPECT_NEAR(static_cast<double>(plan.sessions[i].tap.ports.size()), 16 / 5.0, 1);
    ports.insert(plan.sessions[i].tap.ports.begin(), plan.sessions[i].tap.ports.end());
  }
  EXPECT_EQ(ports.size(), 16u);
}

TEST(MirrorPlanTest, UplinksOfACollectorsLeafAreLeftOut) {
  for (const MirrorSession& session :
       PlanOf(CollectorsOf(kGigabit), MirrorChoice::kUplinks).sessions) {
    EXPECT_NE(LeafSpine().node(session.tap.node).name, "leaf0");
  }
}

TEST(CoverageTest, AllThatNicsSendIsEveryPair) {
  const Coverage seen = PlanOf(CollectorsOf(kGigabit), MirrorChoice::kNics).coverage;
  EXPECT_EQ(seen.nics_sending, 1);
  EXPECT_EQ(seen.nics_receiving, 0);
  EXPECT_EQ(seen.pairs, 1);
  EXPECT_EQ(seen.fabric_links, 0);
  EXPECT_EQ(PlanOf(CollectorsOf(kGigabit), MirrorChoice::kNicsBoth).coverage.nics_receiving, 1);
}

TEST(CoverageTest, HalfTheSendersAreHalfThePairs) {
  const Coverage seen = PlanOf(CollectorsOf(kGigabit), MirrorChoice::kSecondLeaves).coverage;
  EXPECT_EQ(seen.nics_sending, 0.5);
  EXPECT_EQ(seen.pairs, 0.5);
}

// Not observed: 127 senders to each of leaf0's 16 NICs, and 16 * 15 pairs within each other leaf.
TEST(CoverageTest, UplinksMissWhatStaysWithinALeaf) {
  const Coverage seen = PlanOf(CollectorsOf(kGigabit), MirrorChoice::kUplinks).coverage;
  EXPECT_DOUBLE_EQ(seen.pairs, 1 - (127 * 16 + 7 * 16 * 15) / (128 * 127.0));
  EXPECT_DOUBLE_EQ(seen.fabric_links, 7 / 16.0);  // one direction of 7 leaves' links
  EXPECT_EQ(seen.nics_sending, 0);
}

std::string MistakeOf(PlanOptions options) {
  const auto settings = SettingsOf(options);
  return settings ? "" : settings.error().message;
}

TEST(SettingsTest, UnsupportedOptionsAreRefused) {
  PlanOptions options = CollectorsOf(kGigabit);
  options.vendor = Vendor::kSonic;
  EXPECT_EQ(SettingsOf(options)->shape.truncation, 0u);
  options.truncation = 128;
  EXPECT_NE(MistakeOf(options).find("SONiC truncates only sampled copies"), std::string::npos);
  options.one_in = 8;
  EXPECT_EQ(MistakeOf(options), "");
  options.erspan = 3;
  EXPECT_NE(MistakeOf(options).find("remove --erspan"), std::string::npos);
  options = CollectorsOf(kGigabit);
  options.vendor = Vendor::kNxos;
  options.one_in = 8;
  EXPECT_NE(MistakeOf(options).find("Cisco NX-OS does not support sampled mirroring"),
            std::string::npos);
}

TEST(SettingsTest, HeadersOfRoceMustStay) {
  PlanOptions options = CollectorsOf(kGigabit);
  options.truncation = kMinTruncation;
  EXPECT_EQ(MistakeOf(options), "");
  options.truncation = kMinTruncation - 1;
  EXPECT_NE(MistakeOf(options).find("need 70 bytes"), std::string::npos);
}

}  // namespace
}  // namespace rocescope::plan
