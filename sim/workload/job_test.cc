// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using ::testing::HasSubstr;

topology::Blueprint LeafSpine(uint32_t hosts, uint32_t gpus) {
  return {.shape = topology::Shape::kLeafSpine,
          .hosts = hosts,
          .nics_per_host = 1,
          .gpus_per_host = gpus,
          .leaves = 2,
          .spines = 2};
}

std::vector<topology::GpuIndex> Gpus(uint32_t count) {
  std::vector<topology::GpuIndex> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

class JobTest : public ::testing::Test {
 protected:
  Job& Start(const topology::Blueprint& blueprint, const JobOptions& options) {
    fabric_ = std::make_unique<topology::Fabric>(topology::Generate(blueprint).value());
    network_ = std::make_unique<Network>(*fabric_, NetworkOptions{});
    job_ = Job::Make(*network_, options).value();
    job_->Start();
    return *job_;
  }
  void Run(SimTime end) { network_->engine().Run(end); }
  uint64_t BytesAcknowledged() {
    uint64_t bytes = 0;
    for (const Job::Channel& channel : job_->channels()) {
      for (const QueuePair* sender : channel.senders) bytes += sender->bytes_acknowledged();
    }
    return bytes;
  }

  std::unique_ptr<topology::Fabric> fabric_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Job> job_;
};

JobOptions Simple(CollectiveKind kind, uint32_t ranks) {
  return {.name = "train",
          .gpus = Gpus(ranks),
          .phases = {{.name = "dp",
                      .compute = 100 * kMicrosecond,
                      .collective = {.kind = kind, .bytes = 1u << 20}}},
          .iterations = 3};
}

class JobOfEveryKind : public JobTest, public ::testing::WithParamInterface<CollectiveKind> {};

TEST_P(JobOfEveryKind, EndsAfterItsIterationsWithoutFramesInFlight) {
  Job& job = Start(LeafSpine(8, 1), Simple(GetParam(), 8));
  Run(kSecond);
  ASSERT_EQ(job.iterations().size(), 3u);
  for (const Job::Iteration& iteration : job.iterations()) EXPECT_LT(iteration.end, kSecond);
  EXPECT_EQ(network_->shared().frames.out(), 0u);
  EXPECT_FALSE(job.failed());
}

INSTANTIATE_TEST_SUITE_P(Job, JobOfEveryKind,
                         ::testing::Values(CollectiveKind::kRing, CollectiveKind::kTree,
                                           CollectiveKind::kAllToAll,
                                           CollectiveKind::kHalvingDoubling,
                                           CollectiveKind::kPipeline),
                         [](const auto& kind) { return std::string(NameOf(kind.param)); });

// Each of the 8 ranks sends 2 (n-1)/n of the buffer, three times; clear-to-sends go the other
// direction.
TEST_F(JobTest, RingTransfersTheExpectedData) {
  Start(LeafSpine(8, 1), Simple(CollectiveKind::kRing, 8));
  Run(kSecond);
  EXPECT_EQ(BytesAcknowledged(), 3u * 8 * 2 * 7 * ((1u << 20) / 8));
}

TEST_F(JobTest, RanksOnOneHostDoNotUseTheFabric) {
  Start(LeafSpine(4, 2), Simple(CollectiveKind::kRing, 8));
  Run(kSecond);
  // 4 of the ring's 8 edges leave a host.
  EXPECT_EQ(job_->channels().size(), 4u);
  EXPECT_EQ(BytesAcknowledged(), 3u * 4 * 2 * 7 * ((1u << 20) / 8));
}

TEST_F(JobTest, QueuePairsShareAConnection) {
  JobOptions options = Simple(CollectiveKind::kRing, 4);
  options.queue_pairs = 4;
  options.split_data = true;
  Job& job = Start(LeafSpine(4, 1), options);
  Run(kSecond);
  for (const Job::Channel& channel : job.channels()) {
    ASSERT_EQ(channel.senders.size(), 4u);
    for (const QueuePair* sender : channel.senders) {
      EXPECT_EQ(sender->bytes_acknowledged(), channel.senders[0]->bytes_acknowledged());
    }
  }
}

TEST_F(JobTest, StragglerExtendsEveryIteration) {
  const auto duration = [&](double factor) {
    Job& job = Start(LeafSpine(8, 1), Simple(CollectiveKind::kRing, 8));
    job.SetSlowdown(3, factor);
    Run(kSecond);
    return job.iterations()[1].end - job.iterations()[1].begin;
  };
  const SimTime healthy = duration(1);
  // 400 us of additional compute time, minus jitter
  EXPECT_GT(duration(5), healthy + 300 * kMicrosecond);
}

TEST_F(JobTest, GpuComputeTimeMatchesItsPhases) {
  JobOptions options = Simple(CollectiveKind::kRing, 8);
  options.jitter = 0;
  Job& job = Start(LeafSpine(8, 1), options);
  job.SetSlowdown(3, 2);
  Run(150 * kMicrosecond);
  EXPECT_EQ(job.ComputedFor(0), 100 * kMicrosecond);
  EXPECT_EQ(job.ComputedFor(3), 150 * kMicrosecond);  // instead of 200
  Run(kSecond);
  EXPECT_EQ(job.ComputedFor(0), 3 * 100 * kMicrosecond);
  EXPECT_EQ(job.ComputedFor(3), 3 * 200 * kMicrosecond);
}

// Two stages with two data-parallel ranks each.
TEST_F(JobTest, GroupsOfAPhaseRunConcurrently) {
  JobOptions options = Simple(CollectiveKind::kPipeline, 4);
  options.phases[0].groups = {{0, 2}, {1, 3}};
  options.phases.push_back({.name = "dp",
                            .collective = {.kind = CollectiveKind::kRing, .bytes = 1u << 20},
                            .groups = {{0, 1}, {2, 3}}});
  Job& job = Start(LeafSpine(4, 1), options);
  Run(kSecond);
  EXPECT_LT(job.iterations().back().end, kSecond);
  EXPECT_EQ(job.channels().size(), 8u);
}

TEST_F(JobTest, RankInTwoGroupsIsRejected) {
  JobOptions options = Simple(CollectiveKind::kRing, 4);
  options.phases[0].groups = {{0, 1}, {1, 2}};
  fabric_ = std::make_unique<topology::Fabric>(topology::Generate(LeafSpine(4, 1)).value());
  network_ = std::make_unique<Network>(*fabric_, NetworkOptions{});
  const auto job = Job::Make(*network_, options);
  ASSERT_FALSE(job.has_value());
  EXPECT_THAT(job.error().message, HasSubstr("job train, phase dp, group 1: rank 1"));
}

}  // namespace
}  // namespace rocescope::sim
