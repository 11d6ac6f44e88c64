// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/node_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Timestamp kNow = Timestamp(std::chrono::hours(1000));

class NodeUsesTest : public testing::Test {
 protected:
  NodeUsesTest()
      : fabric_(std::make_shared<const topology::Fabric>(
            topology::Generate({.hosts = 4, .nics_per_host = 2, .leaves = 2, .spines = 1})
                .value())),
        places_(*fabric_) {}

  static Allocation Job(uint64_t id, const std::string& node, std::vector<uint32_t> gpus = {}) {
    return {.id = id, .nodes = {{.name = node, .gpus = std::move(gpus)}}};
  }
  // Returns a job of one rank whose last data packet was at this time.
  void See(const std::string& host, int gpu, Timestamp last_seen,
           std::optional<uint64_t> allocation = {}) {
    AttributedJob& job = attribution_.jobs.emplace_back();
    if (allocation) job.job.allocation = JobAllocation{.id = *allocation};
    job.job.ranks = {{.rank = 0, .host = host, .nvml_device = gpu}};
    job.edges.emplace_back().last_seen = last_seen;
  }
  std::vector<NodeUsage> Uses(std::vector<Allocation> allocations, uint64_t own = 0) {
    Snapshot snapshot;
    snapshot.fabric = fabric_;
    snapshot.attribution = std::make_shared<const Attribution>(attribution_);
    return NodeUses(places_, snapshot, allocations, kNow, own);
  }
  topology::NodeIndex Node(const std::string& name) const { return fabric_->FindNode(name); }

  std::shared_ptr<const topology::Fabric> fabric_;
  RankPlaces places_;
  Attribution attribution_;
};

TEST_F(NodeUsesTest, AnAllocationHoldsItsNodesUntilItEnds) {
  Allocation ended = Job(8, "host2");
  ended.state = AllocationState::kEnded;
  EXPECT_THAT(Uses({Job(7, "host1.rack2.example", {1}), ended, Job(9, "elsewhere")}),
              ElementsAre(NodeUsage{.node = Node("host1"), .gpus = {1}, .job = 7}));
}

// Each node of a job can have 1,024 numbers, and each call makes a list for all jobs.
TEST_F(NodeUsesTest, KeepsOnlyGpusThatTheTopologyContains) {
  std::vector<uint32_t> all(1024);
  std::ranges::generate(all, [number = 0u]() mutable { return number++; });
  EXPECT_THAT(Uses({Job(7, "host1", all)}),
              ElementsAre(NodeUsage{.node = Node("host1"), .gpus = {0, 1}, .job = 7}));
  EXPECT_THAT(Uses({Job(7, "host1", {8, 9})}),
              ElementsAre(NodeUsage{.node = Node("host1"), .gpus = {8}, .job = 7}))
      << "not the whole node";
}

TEST_F(NodeUsesTest, FindsGpusThatTheTopologyDoesNotContain) {
  const std::vector<uint32_t> numbers = {0, 1, 2, 7};
  const topology::NodeIndex host = Node("host1");
  ASSERT_EQ(fabric_->GpusOf(host).size(), 2u);
  EXPECT_THAT(UnknownGpus(*fabric_, host, numbers), ElementsAre(2, 7));
  topology::Fabric::Parts parts = fabric_->parts();
  parts.gpus.clear();
  const auto without = topology::Fabric::Make(std::move(parts));
  ASSERT_TRUE(without);
  EXPECT_THAT(UnknownGpus(*without, host, numbers), IsEmpty()) << "it describes no GPUs";
}

TEST_F(NodeUsesTest, OwnNodesOfTheRequestingJobAreFree) {
  EXPECT_THAT(Uses({Job(7, "host1")}, 7), IsEmpty());
}

TEST_F(NodeUsesTest, JobLongAfterItsTimeLimitCountsAsEnded) {
  Allocation job = Job(7, "host1");
  job.end = kNow - std::chrono::minutes(5);
  EXPECT_EQ(Uses({job}).size(), 1u);
  job.end = kNow - std::chrono::minutes(11);
  EXPECT_THAT(Uses({job}), IsEmpty());
}

TEST_F(NodeUsesTest, RankHoldsItsGpuWhileDataIsObserved) {
  See("host3", 1, kNow - std::chrono::seconds(2));
  See("host2", 0, kNow - std::chrono::minutes(2));
  EXPECT_THAT(Uses({}), ElementsAre(NodeUsage{.node = Node("host3"), .gpus = {1}}));
}

// One NIC stands for all GPUs of its host.
TEST_F(NodeUsesTest, InferredJobHoldsWholeNodes) {
  AttributedJob& job = attribution_.jobs.emplace_back();
  job.job.identity = JobIdentity::kWire;
  const topology::NicIndex nic = fabric_->NicsOf(Node("host2"))[0];
  job.job.ranks.emplace_back().addresses = {fabric_->nic(nic).addresses.at(0).address};
  job.edges.emplace_back().last_seen = kNow;
  EXPECT_THAT(Uses({}), ElementsAre(NodeUsage{.node = Node("host2")}));
}

TEST_F(NodeUsesTest, SchedulerTakesPrecedenceOverPackets) {
  See("host3", 1, kNow, 7);
  Allocation ended = Job(7, "host3");
  ended.state = AllocationState::kEnded;
  EXPECT_THAT(Uses({ended}), IsEmpty()) << "although its last packets are recent";
  EXPECT_EQ(Uses({}).size(), 1u);
}

}  // namespace
}  // namespace rocescope
