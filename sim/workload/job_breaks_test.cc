// SPDX-License-Identifier: BSD-3-Clause
// Interludes, checkpoints, and the end of a job.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "sim/workload/job.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kRanks = 4;
constexpr topology::NicIndex kStorage = 5;

class JobBreaksTest : public ::testing::Test {
 protected:
  JobBreaksTest()
      : fabric_(topology::Generate({.hosts = 8, .leaves = 2, .spines = 2}).value()),
        network_(fabric_, {}) {
    options_.name = "train";
    options_.gpus.resize(kRanks);
    std::iota(options_.gpus.begin(), options_.gpus.end(), 0);
    options_.phases = {{.name = "dp",
                        .compute = 50 * kMicrosecond,
                        .collective = {.kind = CollectiveKind::kRing, .bytes = 1u << 20}}};
    options_.jitter = 0;
  }

  void Run(SimTime until) {
    job_ = Job::Make(network_, options_).value();
    job_->Start();
    network_.engine().Run(until);
  }
  std::vector<SimTime> Gaps() const {  // between the iterations
    std::vector<SimTime> gaps;
    for (size_t i = 1; i < job_->iterations().size(); ++i) {
      gaps.push_back(job_->iterations()[i].begin - job_->iterations()[i - 1].end);
    }
    return gaps;
  }

  topology::Fabric fabric_;
  Network network_;
  JobOptions options_;
  std::unique_ptr<Job> job_;
};

TEST_F(JobBreaksTest, InterludeFollowsEveryThirdIteration) {
  options_.interludes = {
      {.name = "evaluation",
       .every = 3,
       .phases = {{.name = "pause", .compute = kMillisecond, .has_collective = false}}}};
  options_.iterations = 7;
  Run(kSecond);
  const std::vector<SimTime> gaps = Gaps();
  ASSERT_EQ(gaps.size(), 6u);
  for (size_t i = 0; i < gaps.size(); ++i) {
    // Ranks finish within microseconds of each other.
    EXPECT_NEAR(static_cast<double>(gaps[i]), i == 2 || i == 5 ? 1.0 * kMillisecond : 0.0,
                20.0 * kMicrosecond)
        << i;
  }
  ASSERT_EQ(job_->breaks().size(), 2u);
  EXPECT_EQ(job_->breaks()[0].name, "evaluation");
  EXPECT_EQ(job_->breaks()[0].iteration, 2u);
  EXPECT_GE(job_->breaks()[0].end - job_->breaks()[0].begin, kMillisecond);
}

TEST_F(JobBreaksTest, InterludeAfterOneIterationComesOnce) {
  options_.interludes = {
      {.name = "compile",
       .after = 1,
       .phases = {{.compute = 300 * kMicrosecond, .has_collective = false},
                  {.collective = {.kind = CollectiveKind::kRing, .bytes = 64u << 10}}}}};
  options_.iterations = 5;
  Run(kSecond);
  ASSERT_EQ(job_->breaks().size(), 1u);
  EXPECT_EQ(job_->breaks()[0].iteration, 0u);
  EXPECT_NE(job_->breaks()[0].end, kNever);
  EXPECT_EQ(job_->phases().size(), 3u);
  EXPECT_EQ(job_->iterations().size(), 5u);
  EXPECT_NE(job_->iterations()[4].end, kNever);
}

TEST_F(JobBreaksTest, CheckpointWritesTheSizeOfEachRankToStorage) {
  constexpr uint64_t kBytes = 3'000'000;
  options_.checkpoint = {.every = 2, .bytes = kBytes, .to = {kStorage}, .blocking = true};
  options_.iterations = 4;
  Run(kSecond);
  ASSERT_EQ(job_->checkpoints().size(), kRanks);
  for (const auto& writer : job_->checkpoints()) {
    EXPECT_EQ(writer->connection().first->bytes_acknowledged(), 2 * kBytes);
    EXPECT_EQ(writer->connection().first->peer().nic().number(), kStorage);
  }
  ASSERT_EQ(job_->breaks().size(), 2u);
  // Four ranks share the storage's link of 100 Gb/s.
  const SimTime least = TransmitTime(kRanks * kBytes, 100'000'000'000);
  EXPECT_GE(job_->breaks()[0].end - job_->breaks()[0].begin, least);
  EXPECT_GE(Gaps()[1], least * 9 / 10);
}

TEST_F(JobBreaksTest, AsynchronousCheckpointDoesNotDelayIterations) {
  options_.checkpoint = {.every = 2, .bytes = 3'000'000, .to = {kStorage}, .blocking = false};
  options_.iterations = 4;
  Run(kSecond);
  EXPECT_LT(Gaps()[1], 20 * kMicrosecond);
  ASSERT_EQ(job_->breaks().size(), 2u);
  EXPECT_GT(job_->breaks()[0].end - job_->breaks()[0].begin, 100 * kMicrosecond);
  EXPECT_NE(job_->breaks()[1].end, kNever);
}

TEST_F(JobBreaksTest, EndedJobSendsNothingMore) {
  constexpr SimTime kEnd = 1'234'567 * kNanosecond;
  options_.end = kEnd;
  Run(kEnd);
  EXPECT_TRUE(job_->stopped());
  const auto sent = [this] {
    uint64_t frames = 0;
    for (topology::NicIndex i = 0; i < kRanks; ++i) frames += network_.nic(i).counters().tx_frames;
    return frames;
  };
  const uint64_t before = sent();
  const SimTime computed = job_->ComputedFor(0);
  EXPECT_GT(before, 1000u);
  network_.engine().Run(kEnd + 500 * kMillisecond);  // several ACK timeouts
  EXPECT_LE(sent() - before, kRanks);                // frames that were being sent
  EXPECT_EQ(job_->ComputedFor(0), computed);
  for (topology::NicIndex i = 0; i < kRanks; ++i) {
    EXPECT_EQ(network_.nic(i).counters().local_ack_timeout_err, 0u);
  }
  EXPECT_EQ(job_->iterations().back().end, kNever);
  EXPECT_EQ(network_.shared().frames.out(), 0u);
}

TEST_F(JobBreaksTest, SlowGpuComputesLonger) {
  options_.paces = {1, 1, 1.5, 1};
  options_.phases[0].compute = kMillisecond;
  options_.iterations = 3;
  Run(kSecond);
  EXPECT_EQ(job_->ComputedFor(0), 3 * kMillisecond);
  EXPECT_EQ(job_->ComputedFor(2), 3 * kMillisecond * 3 / 2);
}

}  // namespace
}  // namespace rocescope::sim
