// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/dependency_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using topology::Fabric;
using topology::PortIndex;

// Four hosts at two leaves under two spines; one job of two ranks at host0 and host3, whose one
// flow goes by spine0.
class DependencyGraphTest : public testing::Test {
 protected:
  DependencyGraphTest() {
    Job job;
    job.id = "job-1";
    for (const int rank : {0, 1}) {
      JobRank& of = job.ranks.emplace_back();
      of.rank = rank;
      of.host = rank == 0 ? "host0" : "host3";
      of.addresses = {AddressOf(of.host)};
      of.gpu_bus_id = fabric_.gpu(fabric_.GpusOf(fabric_.FindNode(of.host))[0]).pci;
    }
    job.communicators.push_back({.id = "world", .rank_count = 2, .members = {{0, 0}, {1, 1}}});
    attribution_.jobs.push_back({.job = job});

    Connection connection;
    connection.state = ConnectionState::kPaired;
    connection.endpoints[0] = {.address = AddressOf("host0"), .qpn = Qpn{7}};
    connection.endpoints[1] = {.address = AddressOf("host3"), .qpn = Qpn{9}};
    connections_ = ConnectionList(std::vector<Connection>{connection});
    attribution_.endpoints.push_back(
        {RankClaim{.job = 0, .rank = 0, .member = 0}, RankClaim{.job = 0, .rank = 1, .member = 1}});

    FlowPath path;
    path.flow = {
        .source = AddressOf("host0"), .destination = AddressOf("host3"), .destination_qpn = Qpn{9}};
    PathStretch& stretch = path.stretches.emplace_back();
    stretch.state = PathState::kExact;
    stretch.certain = {Port("host0", "leaf0"), Port("leaf0", "spine0"), Port("spine0", "leaf1"),
                       Port("leaf1", "host3")};
    paths_ = FlowPaths(std::vector<FlowPath>{path});
  }

  IpAddress AddressOf(std::string_view host) const {
    return fabric_.nic(fabric_.NicsOf(fabric_.FindNode(host))[0]).addresses[0].address;
  }
  PortIndex Port(std::string_view from, std::string_view to) const {
    const topology::Node& node = fabric_.node(fabric_.FindNode(from));
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric_.PeerNode(node.first_port + i) == fabric_.FindNode(to)) return node.first_port + i;
    }
    return topology::kNone;
  }
  std::vector<std::string> Names(const DependencyGraph& graph, const std::vector<Element>& of) {
    std::vector<std::string> names;
    for (const Element& element : of) names.push_back(graph.NameOf(element));
    return names;
  }
  std::vector<std::string> HitBy(std::string_view name) {
    const DependencyGraph graph(fabric_, attribution_, connections_, paths_);
    const auto element = graph.Find(name);
    EXPECT_TRUE(element) << name;
    return element ? Names(graph, graph.BlastRadiusOf(*element)) : std::vector<std::string>();
  }
  std::vector<std::string> NeededBy(std::string_view name) {
    const DependencyGraph graph(fabric_, attribution_, connections_, paths_);
    const auto element = graph.Find(name);
    EXPECT_TRUE(element) << name;
    return element ? Names(graph, graph.NeedsOf(*element)) : std::vector<std::string>();
  }

  const Fabric fabric_ = topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value();
  Attribution attribution_;
  ConnectionList connections_;
  FlowPaths paths_;
};

TEST_F(DependencyGraphTest, ASpineHitsTheJobWhoseFlowsItCarriesAndNoOther) {
  EXPECT_THAT(HitBy("spine0"), IsSupersetOf({"job-1", "world", "job-1:rank:0", "job-1:rank:1"}));
  EXPECT_THAT(HitBy("spine1"), Not(Contains("job-1")));
}

TEST_F(DependencyGraphTest, ALinkHitsThoseWhoUseIt) {
  const std::string used = fabric_.NameOfLink(fabric_.port(Port("leaf0", "spine0")).link);
  const std::string idle = fabric_.NameOfLink(fabric_.port(Port("leaf0", "spine1")).link);
  EXPECT_THAT(HitBy(used), Contains("job-1"));
  EXPECT_THAT(HitBy(idle), Not(Contains("job-1")));
}

TEST_F(DependencyGraphTest, AGpuHitsItsRankItsCommunicatorAndItsJob) {
  EXPECT_THAT(HitBy("host0:gpu:0"), ElementsAre("job-1", "world", "job-1:rank:0"));
}

TEST_F(DependencyGraphTest, ANicHitsTheRankThatTalksByIt) {
  EXPECT_THAT(HitBy("host0:mlx5_0"), ElementsAre("job-1", "world", "job-1:rank:0"));
  EXPECT_THAT(HitBy("host1:mlx5_0"), IsEmpty());
}

TEST_F(DependencyGraphTest, ALeafHitsHostsNicsBelowIt) {
  EXPECT_THAT(HitBy("leaf0"), IsSupersetOf({"host0:mlx5_0", "host1:mlx5_0", "job-1"}));
}

TEST_F(DependencyGraphTest, AJobNeedsAllOnItsWay) {
  EXPECT_THAT(NeededBy("job-1"), IsSupersetOf({"world", "job-1:rank:0", "host0:gpu:0", "host0",
                                               "host0:mlx5_0", "leaf0", "spine0", "leaf1"}));
  EXPECT_THAT(NeededBy("job-1"), Not(Contains("spine1")));
}

TEST_F(DependencyGraphTest, ASwitchNeedsNothing) { EXPECT_THAT(NeededBy("spine0"), IsEmpty()); }

TEST_F(DependencyGraphTest, NamesAreFoundAgain) {
  const DependencyGraph graph(fabric_, attribution_, connections_, paths_);
  for (const std::string_view name :
       {"job-1", "job-1:rank:1", "host0", "host0:gpu:0", "leaf1", "leaf0:Ethernet1"}) {
    const auto element = graph.Find(name);
    ASSERT_TRUE(element) << name;
    EXPECT_EQ(graph.NameOf(*element), name);
  }
  for (const std::string_view name : {"", "nobody", "host0:gpu:99", "host0:gpu:", "leaf0:", ":",
                                      "job-1:rank:7", "leaf0:Ethernet1-"}) {
    EXPECT_FALSE(graph.Find(name)) << name;
  }
}

TEST_F(DependencyGraphTest, WhatIsNotThereHasNoRadius) {
  const DependencyGraph graph(fabric_, attribution_, connections_, paths_);
  EXPECT_THAT(graph.BlastRadiusOf({ElementKind::kLink, 100'000}), IsEmpty());
  EXPECT_THAT(graph.BlastRadiusOf({ElementKind::kHost, fabric_.FindNode("leaf0")}), IsEmpty())
      << "a switch is no host";
}

}  // namespace
}  // namespace rocescope
