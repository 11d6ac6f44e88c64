// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/job_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Allocation Job(uint64_t id, std::string name = "") { return {.id = id, .name = std::move(name)}; }
Timestamp At(int64_t time) { return Timestamp(std::chrono::seconds(time)); }

TEST(JobRegistry, NoNameIsNotTheNameOfAJobWithoutOne) {
  JobRegistry registry;
  EXPECT_TRUE(registry.Register(Job(7)));
  EXPECT_FALSE(registry.Has(""));
}

TEST(JobRegistry, FindsAJobByNumberAndName) {
  JobRegistry registry;
  EXPECT_TRUE(registry.Register(Job(7, "pretrain")));
  EXPECT_TRUE(registry.Has("7"));
  EXPECT_TRUE(registry.Has("pretrain"));
  EXPECT_FALSE(registry.Has("8"));
  EXPECT_TRUE(registry.Register(Job(7, "renamed")));
  EXPECT_FALSE(registry.Has("pretrain"));
  EXPECT_THAT(registry.All(), SizeIs(1));
}

TEST(JobRegistry, AJobEndsOnce) {
  JobRegistry registry;
  EXPECT_FALSE(registry.End(7, At(1)));
  registry.Register(Job(7));
  EXPECT_TRUE(registry.End(7, At(1)));
  EXPECT_TRUE(registry.End(7, At(2)));
  EXPECT_EQ(registry.All()[0].state, AllocationState::kEnded);
  EXPECT_EQ(registry.All()[0].end, At(1));
}

TEST(JobRegistry, UndoRestoresTheEarlierJobUnlessItHasChanged) {
  JobRegistry registry;
  const Allocation second = Job(7, "second");
  registry.Undo(7, registry.Register(second).value(), std::nullopt);
  EXPECT_EQ(registry.Count(true), 0u);
  registry.Register(Job(7, "first"));
  const auto before = registry.Find(7);
  registry.Undo(7, registry.Register(second).value(), before);
  EXPECT_EQ(registry.Find(7)->name, "first");
  const uint64_t lost = registry.Register(second).value();
  const uint64_t acknowledged = registry.Register(second).value();
  registry.Undo(7, lost, before);
  EXPECT_EQ(registry.Find(7)->name, "second") << "an identical request was acknowledged since";
  registry.End(7, At(1));
  registry.Undo(7, acknowledged, before);
  EXPECT_EQ(registry.Find(7)->name, "second") << "it has ended since";
  EXPECT_EQ(registry.Count(true), 1u);
}

TEST(JobRegistry, ForgetsTheJobThatEndedFirstButNoRunningJob) {
  JobRegistry registry;
  for (uint64_t id = 1; id <= JobRegistry::Limits{}.jobs; ++id)
    ASSERT_TRUE(registry.Register(Job(id)));
  const Result<uint64_t> refused = registry.Register(Job(1'000'000));
  ASSERT_FALSE(refused) << "all are running";
  EXPECT_THAT(refused.error().message, HasSubstr("the maximum of 65,536 registered jobs"));
  EXPECT_TRUE(registry.Register(Job(5))) << "replaces an existing job";
  registry.End(20, At(9));
  registry.End(30, At(8));
  EXPECT_TRUE(registry.Register(Job(1'000'000)));
  EXPECT_FALSE(registry.Has("30"));
  EXPECT_TRUE(registry.Has("20"));
}

TEST(JobRegistry, ReportsRunningJobsAndTheLastThatEnded) {
  JobRegistry registry;
  constexpr uint64_t kEnded = JobRegistry::kMaxEndedReported + 7;
  for (uint64_t id = 1; id <= kEnded + 3; ++id) registry.Register(Job(id));
  // The job with the highest number ends first.
  for (uint64_t id = 1; id <= kEnded; ++id) registry.End(id, At(static_cast<int64_t>(9999 - id)));
  const auto reported = registry.Reported();
  ASSERT_THAT(reported, SizeIs(JobRegistry::kMaxEndedReported + 3));
  EXPECT_TRUE(std::ranges::is_sorted(reported, {}, &Allocation::id));
  EXPECT_EQ(reported[JobRegistry::kMaxEndedReported - 1].id, JobRegistry::kMaxEndedReported);
  EXPECT_EQ(reported[JobRegistry::kMaxEndedReported].id, kEnded + 1) << "which is running";
  EXPECT_THAT(registry.All(), SizeIs(kEnded + 3)) << "All() contains the others too";
}

TEST(JobRegistry, ReportsARestartedJobOnce) {
  JobRegistry registry;
  for (int64_t round = 1; round <= 3; ++round) {
    Allocation job = Job(7);
    job.start = At(10 * round);
    registry.Register(job);
    EXPECT_THAT(registry.Reported(), SizeIs(1));
    EXPECT_THAT(registry.Held(), SizeIs(1));
    registry.End(7, At(10 * round + 5));
    EXPECT_THAT(registry.Reported(), SizeIs(1));
    EXPECT_THAT(registry.Held(), SizeIs(0));
  }
}

TEST(JobRegistry, JobRegisteredLateStaysEnded) {
  JobRegistry registry;
  Allocation job = Job(7);
  job.start = At(5);
  registry.Register(job);
  registry.End(7, At(9));
  EXPECT_TRUE(registry.Register(job)) << "the same job, registered again";
  EXPECT_EQ(registry.Find(7)->state, AllocationState::kEnded);
  EXPECT_THAT(registry.Held(), SizeIs(0));
  job.start = At(20);
  registry.Register(job);
  EXPECT_EQ(registry.Find(7)->state, AllocationState::kHeld) << "the job was requeued";
}

TEST(JobRegistry, LimitsTheNumberOfNodes) {
  JobRegistry registry;
  Allocation large = Job(1);
  large.nodes = std::vector<AllocatedNode>(JobRegistry::Limits{}.nodes - 1);
  EXPECT_TRUE(registry.Register(large));
  Allocation two = Job(2);
  two.nodes = std::vector<AllocatedNode>(2);
  const Result<uint64_t> refused = registry.Register(two);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the maximum of 1,048,576 nodes"));
  EXPECT_TRUE(registry.Register(large)) << "it replaces itself";
  registry.End(1, At(3));
  EXPECT_TRUE(registry.Register(two));
  EXPECT_FALSE(registry.Has("1"));
}

TEST(JobRegistry, LimitsTheMemoryOfAllJobs) {
  JobRegistry registry(JobRegistry::LimitsFor(8 << 20));
  Allocation job = Job(1, std::string(4096, 'a'));
  job.nodes = {{.name = "host1", .gpus = {0, 1}}};
  uint64_t registered = 0;
  for (; registered < 1000; ++registered) {
    job.id = registered + 1;
    const Result<uint64_t> one = registry.Register(job);
    if (one) continue;
    EXPECT_THAT(one.error().message, HasSubstr("the maximum of 1M of memory"));
    break;
  }
  EXPECT_GT(registered, 10u);
  EXPECT_LT(registered, 100u);
  EXPECT_TRUE(registry.Register(Job(1, std::string(4000, 'a')))) << "it replaces itself";
  registry.End(1, At(3));
  EXPECT_TRUE(registry.Register(job)) << "an ended job was forgotten";
}

TEST(JobRegistry, CopiesShareTheNodes) {
  JobRegistry registry;
  Allocation job = Job(1);
  job.nodes = {{.name = "host1"}};
  registry.Register(job);
  EXPECT_EQ(&registry.Reported()[0].nodes[0], &job.nodes[0]);
}

TEST(JobRegistry, ListsJobsInPagesById) {
  JobRegistry registry;
  for (const uint64_t id : {9, 3, 5}) registry.Register(Job(id));
  registry.End(5, At(1));
  ASSERT_THAT(registry.After(0, true, 2), SizeIs(2));
  EXPECT_EQ(registry.After(0, true, 2)[1].id, 5u);
  ASSERT_THAT(registry.After(3, false, 2), SizeIs(1));
  EXPECT_EQ(registry.After(3, false, 2)[0].id, 9u);
}

}  // namespace
}  // namespace rocescope
