// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using topology::Fabric;
using topology::NodeIndex;

constexpr Duration kWindow = std::chrono::seconds(1);

// Four hosts with two NICs and GPUs at each of three leaves, two spines. Every link has telemetry
// and is idle.
class PlacementTest : public testing::Test {
 protected:
  PlacementTest() : PlacementTest({.hosts = 12, .nics_per_host = 2, .leaves = 3, .spines = 2}) {}
  explicit PlacementTest(const topology::Blueprint& plan)
      : fabric_(topology::Generate(plan).value()), groups_(LeafGroupsOf(fabric_)) {
    loads_.window = kWindow;
    for (uint32_t port = 0; port < fabric_.ports().size(); ++port) {
      if (fabric_.Peer(port) == topology::kNone) continue;
      loads_.loads.push_back({.port = port, .source = LoadSource::kCounters});
    }
  }

  NodeIndex Node(const std::string& name) const { return fabric_.FindNode(name); }
  topology::PortIndex Port(const std::string& node, const std::string& port) const {
    return fabric_.FindPort(Node(node), port);
  }

  void Break(FaultKind kind, const std::string& node, const std::string& port,
             double confidence = 1) {
    Place place;
    switch (InfoOf(kind).place) {
      case PlaceKind::kLink:
        place = {PlaceKind::kLink, fabric_.port(Port(node, port)).link, Port(node, port)};
        break;
      case PlaceKind::kSwitch:
        place = {PlaceKind::kSwitch, Node(node)};
        break;
      case PlaceKind::kNic:
        place = {PlaceKind::kNic, fabric_.FindNicByDevice(Node(node), port)};
        break;
      case PlaceKind::kGpu:
        place = {PlaceKind::kGpu, fabric_.GpusOf(Node(node))[0]};
        break;
    }
    findings_.push_back({.kind = kind, .place = place, .confidence = confidence});
  }
  void Load(const std::string& node, const std::string& port, double use, double paused = 0) {
    const topology::PortIndex index = Port(node, port);
    LinkLoad& load = *std::ranges::find(loads_.loads, index, &LinkLoad::port);
    load.bytes = static_cast<uint64_t>(use * static_cast<double>(fabric_.SpeedOf(index)) / 8);
    load.paused = std::chrono::duration_cast<Duration>(kWindow * paused);
  }
  void Use(const std::string& node, std::optional<uint64_t> job, std::vector<uint32_t> gpus = {}) {
    uses_.push_back({.node = Node(node), .gpus = std::move(gpus), .job = job});
  }

  Placement Ask(PlacementRequest request) const {
    if (request.candidates.empty()) {
      for (NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
        if (!fabric_.node(node).IsSwitch()) request.candidates.push_back(node);
      }
    }
    return PlaceJob(fabric_, groups_, findings_, loads_, uses_, request);
  }
  std::vector<std::string> Chosen(const Placement& placement) const {
    std::vector<std::string> names;
    for (const NodeIndex node : placement.chosen) names.push_back(fabric_.node(node).name);
    return names;
  }
  const NodeRank& RankOf(const Placement& placement, const std::string& name) const {
    return *std::ranges::find(placement.nodes, Node(name), &NodeRank::node);
  }

  Fabric fabric_;
  topology::LeafGroups groups_;
  Findings findings_;
  LinkLoads loads_;
  std::vector<NodeUsage> uses_;
};

TEST_F(PlacementTest, PlacesAJobBelowOneLeafOfAnIdleFabric) {
  const Placement placement = Ask({.nodes = 4});
  EXPECT_THAT(Chosen(placement), ElementsAre("host0", "host1", "host2", "host3"));
  EXPECT_EQ(placement.distance, PlacementDistance::kLeaf);
  EXPECT_EQ(placement.score, 1);
  EXPECT_EQ(placement.offered, 12u);
  EXPECT_THAT(placement.groups, ElementsAre(0));
  EXPECT_EQ(placement.sentence, "4 nodes below leaf0: no known problems");
  EXPECT_THAT(placement.nodes, SizeIs(12));
}

TEST_F(PlacementTest, ALostRailRulesANodeOut) {
  Break(FaultKind::kGrayLoss, "host1", "mlx5_1", 0.9);
  const Placement placement = Ask({.nodes = 4});
  EXPECT_THAT(Chosen(placement), ElementsAre("host4", "host5", "host6", "host7"));
  const NodeRank& rank = RankOf(placement, "host1");
  EXPECT_FALSE(rank.suits);
  EXPECT_EQ(rank.rails, 2u);
  EXPECT_EQ(rank.healthy_rails, 1u);
  EXPECT_NEAR(rank.score, 0.1, 1e-9) << "1 minus the confidence of 0.9";
  ASSERT_THAT(rank.reasons, SizeIs(1));
  EXPECT_EQ(rank.reasons[0].kind, PlacementReasonKind::kFault);
  EXPECT_EQ(rank.reasons[0].finding, FaultKind::kGrayLoss);
  EXPECT_THAT(rank.reasons[0].place, HasSubstr("host1:mlx5_1"));
  EXPECT_THAT(rank.reasons[0].sentence, HasSubstr("silent packet loss"));
}

TEST_F(PlacementTest, EveryKindOfFaultOfANodeCounts) {
  for (const FaultKind kind : {FaultKind::kLinkDown, FaultKind::kFlap, FaultKind::kDegradedRate,
                               FaultKind::kBitErrors, FaultKind::kSlowReceiver,
                               FaultKind::kPfcStorm, FaultKind::kNicCrash, FaultKind::kStraggler}) {
    findings_.clear();
    Break(kind, "host5", "mlx5_0");
    EXPECT_FALSE(RankOf(Ask({.nodes = 1}), "host5").suits) << InfoOf(kind).name;
    EXPECT_TRUE(RankOf(Ask({.nodes = 1}), "host4").suits) << InfoOf(kind).name;
  }
}

TEST_F(PlacementTest, ABrokenLeafRulesOutWhatIsBelow) {
  Break(FaultKind::kSwitchCrash, "leaf0", "");
  const Placement placement = Ask({.nodes = 5});
  EXPECT_EQ(placement.offered, 8u);
  EXPECT_EQ(RankOf(placement, "host3").healthy_rails, 0u);
  EXPECT_EQ(placement.distance, PlacementDistance::kPod);
  for (const std::string& name : Chosen(placement)) EXPECT_GE(name, "host1") << name;
}

TEST_F(PlacementTest, UnlikelyOrResolvedFaultsDoNotRuleANodeOut) {
  Break(FaultKind::kGrayLoss, "host0", "mlx5_0", 0.3);
  Break(FaultKind::kGrayLoss, "host4", "mlx5_0");
  findings_.back().until = FromNanoseconds(1);
  const Placement placement = Ask({.nodes = 4});
  EXPECT_TRUE(RankOf(placement, "host0").suits);
  EXPECT_NEAR(RankOf(placement, "host0").score, 0.7, 1e-9);
  EXPECT_TRUE(RankOf(placement, "host4").suits);
  EXPECT_LT(RankOf(placement, "host4").score, 0.7) << "an idle link shows no fault";
  EXPECT_THAT(Chosen(placement), ElementsAre("host8", "host9", "host10", "host11"));
}

TEST_F(PlacementTest, FaultsThatWereResolvedLongAgoDoNotCount) {
  Break(FaultKind::kGrayLoss, "host0", "mlx5_0");
  findings_.back().until = FromNanoseconds(1);
  loads_.window = std::chrono::seconds(1);
  loads_.from = FromNanoseconds(0) + std::chrono::seconds(256);
  EXPECT_LT(RankOf(Ask({.nodes = 1}), "host0").score, 1);
  loads_.from = FromNanoseconds(0) + std::chrono::seconds(257);
  EXPECT_EQ(RankOf(Ask({.nodes = 1}), "host0").score, 1);
}

TEST_F(PlacementTest, AlternativesOfAFindingCountWithTheirProbability) {
  Break(FaultKind::kGrayLoss, "host0", "mlx5_0", 0.6);
  const topology::PortIndex other = Port("host4", "mlx5_0");
  findings_[0].alternatives = {{.kind = FaultKind::kGrayLoss,
                                .place = {PlaceKind::kLink, fabric_.port(other).link, other},
                                .probability = 0.4}};
  EXPECT_NEAR(RankOf(Ask({.nodes = 1}), "host4").score, 0.6, 1e-9);
}

// They belong to no job that is known, so that their hosts look idle.
TEST_F(PlacementTest, SendersThatCauseAnActiveFaultAreUnsuitable) {
  Break(FaultKind::kIncast, "host8", "mlx5_0", 0.9);
  const topology::NicIndex sender = fabric_.FindNicByDevice(Node("host0"), "mlx5_0");
  findings_[0].culprits = {{.source = fabric_.nic(sender).addresses.at(0).address}};
  const Placement placement = Ask({.nodes = 1});
  EXPECT_FALSE(RankOf(placement, "host0").suits);
  EXPECT_EQ(RankOf(placement, "host0").healthy_rails, 2u) << "the fault is elsewhere";
  EXPECT_THAT(RankOf(placement, "host0").reasons[0].sentence,
              HasSubstr("traffic of this node causes a fault"));
  findings_[0].until = Timestamp(std::chrono::seconds(1));
  EXPECT_TRUE(RankOf(Ask({.nodes = 1}), "host0").suits) << "the fault was resolved";
}

TEST_F(PlacementTest, NodesWithLittleTrafficComeAfterIdleOnes) {
  Load("host0", "mlx5_0", 0.2);
  Load("host1", "mlx5_1", 0.01);
  const Placement placement = Ask({.nodes = 1});
  EXPECT_THAT(Chosen(placement), ElementsAre("host1")) << "1 % is idle";
  EXPECT_NEAR(RankOf(placement, "host0").score, 0.95, 1e-9);
  EXPECT_TRUE(RankOf(placement, "host0").suits);
}

TEST_F(PlacementTest, NodesOnBusyLinksComeLast) {
  Load("host0", "mlx5_0", 0.8);
  Load("host4", "mlx5_1", 0, 0.7);
  const Placement placement = Ask({.nodes = 1});
  const NodeRank& busy = RankOf(placement, "host0");
  EXPECT_NEAR(busy.score, 0.7, 1e-6) << "0.3 above half of the link";
  EXPECT_EQ(busy.reasons[0].kind, PlacementReasonKind::kBusy);
  EXPECT_EQ(busy.reasons[0].place, "host0:mlx5_0");
  EXPECT_NEAR(busy.reasons[0].value, 0.8, 1e-6);
  EXPECT_EQ(RankOf(placement, "host4").reasons[0].kind, PlacementReasonKind::kPaused);
  EXPECT_EQ(placement.nodes[10].node, Node("host4"));
  EXPECT_EQ(placement.nodes[11].node, Node("host0"));
  Load("host0", "mlx5_0", 1);
  EXPECT_FALSE(RankOf(Ask({.nodes = 1}), "host0").suits) << "nothing is left";
}

TEST_F(PlacementTest, ProblemsAboveALeafAffectJobsThatLeaveIt) {
  Break(
      FaultKind::kGrayLoss, "leaf0",
      fabric_
          .port(fabric_.PortsOf(Node("leaf0")).size() - 1 + fabric_.node(Node("leaf0")).first_port)
          .name);
  const Placement within = Ask({.nodes = 4});
  EXPECT_THAT(Chosen(within), ElementsAre("host0", "host1", "host2", "host3"));
  EXPECT_EQ(within.score, 1) << "no packet goes there";
  const Placement beyond = Ask({.nodes = 8});
  EXPECT_THAT(Chosen(beyond), ElementsAre("host4", "host5", "host6", "host7", "host8", "host9",
                                          "host10", "host11"));
  EXPECT_EQ(RankOf(beyond, "host0").reasons[0].kind, PlacementReasonKind::kFaultAbove);
  EXPECT_EQ(RankOf(beyond, "host0").score, 1);
  EXPECT_LT(RankOf(beyond, "host0").beyond_leaf, 1);
}

TEST_F(PlacementTest, UsedNodesAreNotOffered) {
  Use("host0", 7);
  Use("host1", std::nullopt);
  const Placement placement = Ask({.nodes = 3});
  EXPECT_THAT(Chosen(placement), ElementsAre("host4", "host5", "host6"))
      << "only two are left below leaf0, which is not enough";
  const NodeRank& rank = RankOf(placement, "host0");
  EXPECT_FALSE(rank.suits);
  EXPECT_EQ(rank.free_gpus, 0u);
  EXPECT_THAT(rank.reasons[0].jobs, ElementsAre(7));
  EXPECT_EQ(rank.reasons[0].sentence, "job 7 runs on this node");
  EXPECT_EQ(RankOf(placement, "host1").reasons[0].sentence,
            "an unregistered job runs on this node");
}

TEST_F(PlacementTest, ASmallJobLeavesLargeGroupsWhole) {
  Use("host8", 7);
  Use("host9", 7);
  EXPECT_THAT(Chosen(Ask({.nodes = 2})), ElementsAre("host10", "host11"));
}

TEST_F(PlacementTest, GpusThatAreFreeOnASharedNodeAreOffered) {
  Use("host0", 7, {0});
  EXPECT_THAT(Chosen(Ask({.gpus = 1})), ElementsAre("host0")) << "idle nodes remain whole";
  EXPECT_EQ(Ask({.gpus = 1}).distance, PlacementDistance::kNode);
  const Placement two = Ask({.gpus = 2});
  EXPECT_THAT(Chosen(two), ElementsAre("host1"));
  EXPECT_EQ(RankOf(two, "host0").free_gpus, 1u);
  EXPECT_FALSE(RankOf(two, "host0").suits) << "a job of two GPUs stays on one node";
  EXPECT_FALSE(RankOf(Ask({.nodes = 1}), "host0").suits) << "it is not entirely free";
  EXPECT_THAT(Chosen(Ask({.gpus = 4, .gpus_per_node = 1})),
              ElementsAre("host0", "host1", "host2", "host3"));
}

TEST_F(PlacementTest, GpusAreCountedAndNodesAreTakenWhole) {
  EXPECT_THAT(Chosen(Ask({.gpus = 7})), ElementsAre("host0", "host1", "host2", "host3"));
  EXPECT_EQ(Ask({.gpus = 7}).offered, 24u);
  const Placement wide = Ask({.gpus = 8, .gpus_per_node = 4});
  EXPECT_THAT(wide.chosen, IsEmpty());
  EXPECT_EQ(wide.nodes[0].reasons[0].kind, PlacementReasonKind::kTooFewGpus);
}

TEST_F(PlacementTest, ChoosesNothingAndExplainsWhyIfTooFewNodesAreSuitable) {
  Use("host0", 7);
  Break(FaultKind::kLinkDown, "host1", "mlx5_0");
  const Placement placement = Ask({.nodes = 11});
  EXPECT_THAT(placement.chosen, IsEmpty());
  EXPECT_EQ(placement.distance, PlacementDistance::kNone);
  EXPECT_EQ(placement.offered, 10u);
  EXPECT_EQ(placement.sentence,
            "11 nodes are requested; suitable: 10 nodes of 12 candidates (excluded: 1 in use, 1 "
            "with faults)");
  EXPECT_TRUE(std::ranges::none_of(placement.nodes, &NodeRank::chosen));
}

TEST_F(PlacementTest, ConsidersOnlyCandidates) {
  const Placement placement = Ask({.nodes = 1, .candidates = {Node("host9"), Node("host11")}});
  EXPECT_THAT(placement.nodes, SizeIs(2));
  EXPECT_THAT(Chosen(placement), ElementsAre("host9"));
}

TEST_F(PlacementTest, NodesWithoutTelemetryAreNotConsideredHealthy) {
  std::erase_if(loads_.loads, [&](const LinkLoad& load) {
    return load.port == Port("host0", "mlx5_0") ||
           load.port == fabric_.Peer(Port("host0", "mlx5_0"));
  });
  const Placement placement = Ask({.nodes = 1});
  const NodeRank& rank = RankOf(placement, "host0");
  EXPECT_EQ(rank.monitored_rails, 1u);
  EXPECT_TRUE(rank.suits);
  EXPECT_EQ(rank.reasons[0].kind, PlacementReasonKind::kUnmonitored);
  EXPECT_EQ(placement.nodes.back().node, Node("host0")) << "others are known to be healthy";
}

TEST_F(PlacementTest, TheOrderOfUsesDoesNotMatter) {
  for (const char* name : {"host0", "host5", "host9"}) Use(name, 7);
  const Placement one = Ask({.nodes = 4});
  std::ranges::reverse(uses_);
  const Placement other = Ask({.nodes = 4});
  EXPECT_EQ(one.chosen, other.chosen);
  EXPECT_EQ(one.sentence, other.sentence);
}

// Hosts 0 to 3 have rail 0 at leaf0 and rail 1 at leaf1, hosts 4 to 7 at leaf2 and leaf3.
class RailPlacementTest : public PlacementTest {
 protected:
  RailPlacementTest()
      : PlacementTest(
            {.hosts = 8, .nics_per_host = 2, .rail_optimised = true, .leaves = 4, .spines = 2}) {}
};

TEST_F(RailPlacementTest, AFaultyLeafOfOneRailAffectsAllOfItsHosts) {
  Break(FaultKind::kBlackhole, "leaf1", "");
  const Placement placement = Ask({.nodes = 3});
  EXPECT_THAT(Chosen(placement), ElementsAre("host4", "host5", "host6"));
  EXPECT_EQ(placement.sentence, "3 nodes below leaf[2-3]: no known problems");
  EXPECT_EQ(RankOf(placement, "host2").rails, 2u);
  EXPECT_EQ(RankOf(placement, "host2").healthy_rails, 1u);
  EXPECT_THAT(Ask({.nodes = 5}).chosen, IsEmpty());
}

// Two hosts at each of two leaves in each of four pods.
class PodPlacementTest : public PlacementTest {
 protected:
  PodPlacementTest() : PlacementTest({.shape = topology::Shape::kFatTree, .k = 4}) {}
};

TEST_F(PodPlacementTest, AJobStaysWithinAPodIfItCan) {
  Use("host0", 7);
  const Placement placement = Ask({.nodes = 4});
  EXPECT_THAT(Chosen(placement), ElementsAre("host4", "host5", "host6", "host7"));
  EXPECT_EQ(placement.distance, PlacementDistance::kPod);
  EXPECT_NEAR(placement.score, 0.9, 1e-9);
  const Placement large = Ask({.nodes = 6});
  EXPECT_EQ(large.distance, PlacementDistance::kFabric);
  EXPECT_THAT(large.groups, SizeIs(3)) << "whole groups of two";
}

TEST_F(PodPlacementTest, HealthyNodesArePreferredToNearOnes) {
  // Each leaf has one node with a score of 0.6 and one without problems, except those of the last
  // pod: one node there is in use.
  for (const char* name : {"host0", "host2", "host4", "host6", "host8", "host10"}) {
    Load(name, "mlx5_0", 0.9);
  }
  Use("host12", 7);
  Use("host14", 7);
  const Placement placement = Ask({.nodes = 2});
  EXPECT_THAT(Chosen(placement), ElementsAre("host1", "host3"));
  EXPECT_EQ(placement.distance, PlacementDistance::kPod) << "0.9 of 1 is more than 0.6";
  EXPECT_NEAR(placement.score, 0.9, 1e-9);
}

}  // namespace
}  // namespace rocescope
