// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/dependency_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/dependency/dependency_fixture.h"

namespace rocescope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using topology::Fabric;
using topology::kNone;

using DependencyGraphTest = DependencyTest;

TEST_F(DependencyGraphTest, ASpineHitsItsLinksBothEndsOfThemAndTheJobWhoseFlowsItCarries) {
  AddSmallJob();
  EXPECT_THAT(HitBy("spine0"),
              UnorderedElementsAre("job-1", "world", "job-1:rank:0", "job-1:rank:1",
                                   PortName("leaf0", "spine0"), PortName("leaf1", "spine0"),
                                   PortName("spine0", "leaf0"), PortName("spine0", "leaf1"),
                                   LinkName("leaf0", "spine0"), LinkName("leaf1", "spine0")));
  EXPECT_THAT(HitBy("spine1"), Not(Contains("job-1")));
}

TEST_F(DependencyGraphTest, ALinkAndThePortsAtItsEndsHitThoseWhoUseIt) {
  AddSmallJob();
  const auto work = IsSupersetOf({"job-1", "world", "job-1:rank:0", "job-1:rank:1"});
  EXPECT_THAT(HitBy(LinkName("leaf0", "spine0")), work);
  EXPECT_THAT(HitBy(PortName("leaf0", "spine0")), work);
  EXPECT_THAT(HitBy(PortName("spine0", "leaf0")), work);
  EXPECT_THAT(HitBy(LinkName("leaf0", "spine1")),
              UnorderedElementsAre(PortName("leaf0", "spine1"), PortName("spine1", "leaf0")));
}

TEST_F(DependencyGraphTest, AGpuHitsItsRankItsCommunicatorAndItsJob) {
  AddSmallJob();
  EXPECT_THAT(HitBy("host0:gpu:0"), ElementsAre("job-1", "world", "job-1:rank:0"));
  EXPECT_THAT(HitBy("host0:gpu:1"), IsEmpty());
}

TEST_F(DependencyGraphTest, RanksOnOneGpuAreAllHitByIt) {
  // MIG: NCCL prints the PCI address of the whole.
  AddJob("job-1", {RankAt(0, "host0"), RankAt(1, "host0")});
  EXPECT_THAT(HitBy("host0:gpu:0"), ElementsAre("job-1", "job-1:rank:0", "job-1:rank:1"));
}

TEST_F(DependencyGraphTest, AHostHitsWhatIsInItAndWhatRunsThere) {
  AddSmallJob();
  EXPECT_THAT(HitBy("host3"), UnorderedElementsAre("job-1", "world", "job-1:rank:1", "host3:gpu:0",
                                                   "host3:gpu:1", "host3:mlx5_0", "host3:mlx5_1"));
}

TEST_F(DependencyGraphTest, OfAHostsNicsTheOneThatARankTalksByHitsIt) {
  JobRank rank = RankAt(0, "host0");
  rank.addresses.clear();  // no log tells them: the traffic does
  const uint32_t job = AddJob("job-1", {rank});
  AddConnection("host0", "host3", 9, Of(job, 0), std::nullopt, /*nic=*/1);
  EXPECT_THAT(HitBy("host0:mlx5_1"), ElementsAre("job-1", "job-1:rank:0"));
  EXPECT_THAT(HitBy("host0:mlx5_0"), IsEmpty());
}

TEST_F(DependencyGraphTest, ANicIsFoundInItsSegment) {
  Fabric::Parts parts = fabric_.parts();
  for (topology::Nic& nic : parts.nics) nic.addresses[0].segment = 5;
  const IpAddress sender = AddressOf("host0");
  const IpAddress receiver = AddressOf("host3");
  fabric_ = Fabric::Make(parts).value();
  JobRank rank;
  rank.host = "host0";
  const uint32_t job = AddJob("job-1", {rank});
  Connection& connection = AddConnection("host0", "host3", 9, Of(job, 0), std::nullopt);
  connection.endpoints[0] = {.segment = 5, .address = receiver, .qpn = Qpn{9}};
  connection.endpoints[1] = {.segment = 5, .address = sender, .qpn = std::nullopt};
  EXPECT_THAT(HitBy("host0:mlx5_0"), Contains("job-1"));
}

TEST_F(DependencyGraphTest, ALeafHitsTheNicsBelowItButNotTheirHosts) {
  AddSmallJob();
  EXPECT_THAT(HitBy("leaf0"), AllOf(IsSupersetOf({"host0:mlx5_0", "host1:mlx5_0", "job-1"}),
                                    Not(Contains("host0")), Not(Contains("host2:mlx5_0"))));
}

TEST_F(DependencyGraphTest, AJobNeedsAllOnItsWay) {
  AddSmallJob();
  EXPECT_THAT(NeededBy("job-1"),
              AllOf(IsSupersetOf({"world", "job-1:rank:0", "host0:gpu:0", "host0", "host0:mlx5_0",
                                  "leaf0", "spine0", "leaf1"}),
                    Contains(LinkName("host3", "leaf1"))));
  EXPECT_THAT(NeededBy("job-1"), Not(Contains("spine1")));
}

TEST_F(DependencyGraphTest, ANicNeedsHostPortsLinkAndLeaf) {
  // A port of a host is named as its NIC here.
  EXPECT_THAT(NeededBy("host0:mlx5_0"),
              UnorderedElementsAre("host0", "host0:mlx5_0", PortName("leaf0", "host0"),
                                   LinkName("host0", "leaf0"), "leaf0"));
}

TEST_F(DependencyGraphTest, ASwitchNeedsNothing) { EXPECT_THAT(NeededBy("spine0"), IsEmpty()); }

TEST_F(DependencyGraphTest, APortWithoutALinkNeedsItsSwitchAndHitsNobody) {
  Fabric::Parts parts = fabric_.parts();
  const topology::PortIndex port = parts.links.back().ends[0];
  for (const topology::PortIndex end : parts.links.back().ends) parts.ports[end].link = kNone;
  parts.links.pop_back();
  fabric_ = Fabric::Make(parts).value();
  const topology::Node& node = fabric_.node(fabric_.port(port).node);
  ASSERT_TRUE(node.IsSwitch());
  EXPECT_THAT(NeededBy(fabric_.NameOf(port)), ElementsAre(node.name));
  EXPECT_THAT(HitBy(fabric_.NameOf(port)), IsEmpty());
  EXPECT_THAT(HitBy(node.name), Contains(fabric_.NameOf(port)));
}

TEST_F(DependencyGraphTest, OfALikelyWayAllLinksAreNeeded) {
  AddSmallJob();
  PathInterval& way = paths_[0].intervals[0];
  way.state = PathState::kLikely;  // by spine0; what all candidates share has no spine
  way.certain = {Port("host0", "leaf0"), Port("leaf1", "host3")};
  EXPECT_THAT(HitBy("spine0"), Contains("job-1:rank:0"));
}

TEST_F(DependencyGraphTest, OfAnAmbiguousWayTheLinksOfAllCandidatesAreNeeded) {
  AddSmallJob();
  PathInterval& way = paths_[0].intervals[0];
  way.state = PathState::kAmbiguous;
  way.certain = {Port("host0", "leaf0"), Port("leaf1", "host3")};
  EXPECT_THAT(HitBy("spine0"), Not(Contains("job-1:rank:0")));
  EXPECT_THAT(HitBy("leaf1"), Contains("job-1:rank:0"));
  InGraph([](const DependencyGraph& graph) {
    EXPECT_EQ(graph.coverage(), (FlowCoverage{.flows = 1, .known = 0, .partly = 1}));
  });
}

TEST_F(DependencyGraphTest, SprayedPacketsNeedAllLinksThatTheyWereSeenOn) {
  AddSmallJob();
  PathInterval& way = paths_[0].intervals[0];
  way = {.state = PathState::kSpread,
         .shares = {{.port = Port("leaf0", "spine0"), .share = 0},
                    {.port = Port("leaf0", "spine1"), .share = 1}}};
  EXPECT_THAT(HitBy("spine1"), Contains("job-1:rank:1"));
  EXPECT_THAT(HitBy("spine0"), Not(Contains("job-1:rank:1")));
}

TEST_F(DependencyGraphTest, AStrayFlowAndOneThatNobodySawNeedNoLinks) {
  AddSmallJob();
  paths_[0].intervals[0] = {.state = PathState::kStray};
  EXPECT_THAT(HitBy(LinkName("leaf0", "spine0")), Not(Contains("job-1")));
  paths_.clear();
  EXPECT_THAT(HitBy(LinkName("leaf0", "spine0")), Not(Contains("job-1")));
  EXPECT_THAT(HitBy("leaf0"), Contains("job-1")) << "by its NIC";
  InGraph([](const DependencyGraph& graph) {
    EXPECT_EQ(graph.coverage(), (FlowCoverage{.flows = 1}));
  });
}

TEST_F(DependencyGraphTest, TheWayThatAFlowTookLastIsNeeded) {
  AddSmallJob();
  AddWay({"host0", "leaf0", "spine1", "leaf1", "host3"}, 9);
  EXPECT_THAT(HitBy("spine1"), Contains("job-1"));
  EXPECT_THAT(HitBy("spine0"), Not(Contains("job-1")));
}

TEST_F(DependencyGraphTest, AQueuePairNumbersNextOwnerDoesNotLendItsWay) {
  AddSmallJob();
  const Timestamp handover{std::chrono::seconds(1)};
  connections_[0].valid_until = handover;
  paths_[0].intervals[0].until = handover - Duration(1);
  const uint32_t next = AddJob("job-2", {RankAt(0, "host0"), RankAt(1, "host3")});
  AddConnection("host0", "host3", 9, Of(next, 0), Of(next, 1)).valid_from = handover;
  PathInterval& way = AddWay({"host0", "leaf0", "spine1", "leaf1", "host3"}, 9);
  way.from = way.until = handover;
  EXPECT_THAT(HitBy("spine0"), AllOf(Contains("job-1"), Not(Contains("job-2"))));
  EXPECT_THAT(HitBy("spine1"), AllOf(Contains("job-2"), Not(Contains("job-1"))));
}

TEST_F(DependencyGraphTest, AJobWithoutRanksNeedsWhatItsFlowsUse) {
  const uint32_t job = AddJob("job-1", {});
  AddConnection("host0", "host3", 9, Of(job, -1), std::nullopt);
  AddWay({"host0", "leaf0", "spine0", "leaf1", "host3"}, 9);
  EXPECT_THAT(HitBy("spine0"), Contains("job-1"));
  EXPECT_THAT(HitBy("host0:mlx5_0"), ElementsAre("job-1"));
}

TEST_F(DependencyGraphTest, ARankWithoutAGpuNeedsItsHost) {
  JobRank rank;
  rank.host = "host2.rack1.example";
  AddJob("job-1", {rank});
  EXPECT_THAT(NeededBy("job-1"), ElementsAre("job-1:host2.rack1.example:?", "host2"));
}

TEST_F(DependencyGraphTest, ARankOfAHostThatTheTopologyHasNotNeedsNothing) {
  JobRank rank;
  rank.host = "elsewhere";
  AddJob("job-1", {rank});
  EXPECT_THAT(NeededBy("job-1"), ElementsAre("job-1:elsewhere:?"));
}

TEST_F(DependencyGraphTest, AMemberThatIsNoRankOfTheJobIsLeftOut) {
  AddSmallJob();
  attribution_.jobs[0].job.communicators[0].members.push_back({.rank = 2, .job_rank = 7});
  EXPECT_THAT(NeededBy("world"), IsSupersetOf({"job-1:rank:0", "job-1:rank:1"}));
}

TEST_F(DependencyGraphTest, ReachCountsWorkAndWhereItRuns) {
  AddSmallJob();
  InGraph([](const DependencyGraph& graph) {
    const auto reach = [&](std::string_view name) {
      return graph.ReachOf(graph.BlastRadiusOf(*graph.elements().Find(name)));
    };
    EXPECT_EQ(reach("spine0"), (Reach{.jobs = 1, .ranks = 2, .gpus = 2, .hosts = 2}));
    EXPECT_EQ(reach("host3:gpu:0"), (Reach{.jobs = 1, .ranks = 1, .gpus = 1, .hosts = 1}));
    EXPECT_EQ(reach("spine1"), Reach{});
  });
}

TEST_F(DependencyGraphTest, FlowsThatNoJobClaimsAreCounted) {
  AddSmallJob();
  AddConnection("host1", "host2", 5, std::nullopt, std::nullopt);
  InGraph([](const DependencyGraph& graph) {
    EXPECT_EQ(graph.coverage(), (FlowCoverage{.flows = 1, .known = 1, .unclaimed = 1}));
  });
}

TEST_F(DependencyGraphTest, WhatIsNotThereHasNoRadius) {
  InGraph([&](const DependencyGraph& graph) {
    EXPECT_THAT(graph.BlastRadiusOf({ElementKind::kLink, 100'000}), IsEmpty());
    EXPECT_THAT(graph.BlastRadiusOf({ElementKind::kHost, fabric_.FindNode("leaf0")}), IsEmpty())
        << "a switch is no host";
  });
}

// 10,000 GPUs in 1,250 hosts, ten hosts a leaf, 16 spines. Rank r of the first 5,000 has 20 flows
// to rank r + 5,000, all by spine r mod 16: 313 such ranks for each of the first eight spines, for
// 5000 = 16 * 312 + 8, and their 313 peers.
TEST_F(DependencyGraphTest, TenThousandGpusAreNoTrouble) {
  constexpr uint32_t kHalf = 5'000;
  fabric_ =
      topology::Generate({.hosts = 1'250, .nics_per_host = 8, .leaves = 125, .spines = 16}).value();
  std::vector<JobRank> ranks(size_t{2} * kHalf);
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    ranks[r].rank = static_cast<int>(r);
    ranks[r].host = fabric_.node(fabric_.nic(r).host).name;
    ranks[r].addresses = {fabric_.nic(r).addresses[0].address};
    ranks[r].gpu_bus_id = fabric_.gpu(r).pci;
  }
  const uint32_t job = AddJob("large", std::move(ranks));
  for (uint32_t r = 0; r < kHalf; ++r) {
    const topology::Nic& from = fabric_.nic(r);
    const topology::Nic& to = fabric_.nic(r + kHalf);
    const topology::PortIndex up = fabric_.Peer(from.port);
    const topology::Node& leaf = fabric_.node(fabric_.port(up).node);
    PathInterval way{.state = PathState::kExact};
    way.path.ports = {from.port, leaf.first_port + 80 + r % 16,  // spines follow 80 NICs
                      kNone, fabric_.Peer(to.port)};
    const topology::Node& spine = fabric_.node(fabric_.PeerNode(way.path.ports[1]));
    way.path.ports[2] = spine.first_port + (r + kHalf) / 80;  // by leaf
    way.path.length = 4;
    for (uint32_t flow = 0; flow < 20; ++flow) {
      Connection connection;
      connection.endpoints[0] = {.address = to.addresses[0].address, .qpn = Qpn{flow}};
      connection.endpoints[1] = {.address = from.addresses[0].address};
      connections_.push_back(connection);
      attribution_.endpoints.push_back(
          {Of(job, static_cast<int>(r + kHalf)), Of(job, static_cast<int>(r))});
      paths_.push_back({.flow = {.source = from.addresses[0].address,
                                 .destination = to.addresses[0].address,
                                 .destination_qpn = Qpn{flow}},
                        .intervals = {way}});
    }
  }
  std::ranges::sort(paths_, {}, &FlowPath::flow);
  InGraph([](const DependencyGraph& graph) {
    EXPECT_EQ(graph.coverage(), (FlowCoverage{.flows = 100'000, .known = 100'000}));
    for (const auto& [spine, of_each] : {std::pair("spine0", 313u), std::pair("spine15", 312u)}) {
      const Reach reach = graph.ReachOf(graph.BlastRadiusOf(*graph.elements().Find(spine)));
      EXPECT_EQ(reach.ranks, 2 * of_each) << spine;
      EXPECT_EQ(reach.gpus, 2 * of_each) << spine;
    }
  });
}

}  // namespace
}  // namespace rocescope
