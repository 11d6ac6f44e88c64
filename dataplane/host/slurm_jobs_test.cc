// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/host/slurm_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/fixtures.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The format of Slurm 21.08.
constexpr std::string_view kOld = R"json({"meta": {"Slurm": {"release": "21.08.5"}}, "errors": [],
  "jobs": [{"job_id": 7, "name": "pretrain", "user_name": "ana", "job_state": "RUNNING",
            "start_time": 1750000000, "end_time": 1750086400, "nodes": "a[01-02],b7",
            "gres_detail": ["gpu:h100:8(IDX:0-7)", "gpu:h100:3(IDX:0-1,6)", "gpu:h100:1(IDX:5)"],
            "job_resources": {"nodes": "a[01-02],b7", "allocated_hosts": 3}}]})json";

// The same in the format of 24.05.
constexpr std::string_view kNew = R"json({"jobs": [{"job_id": 7, "name": "pretrain",
  "user_name": "ana", "job_state": ["RUNNING"],
  "start_time": {"set": true, "infinite": false, "number": 1750000000},
  "end_time": {"set": true, "infinite": false, "number": 1750086400}, "nodes": "a[01-02],b7",
  "gres_detail": ["gpu:h100:8(IDX:0-7)", "gpu:h100:3(IDX:0-1,6)", "gpu:h100:1(IDX:5)"],
  "job_resources": {"select_type": ["CORE"], "cpus": 3, "nodes": {"count": 3, "whole": false,
    "list": "a[01-02],b7", "allocation": [{"index": 0, "name": "a01"}]}}}]})json";

std::string OneJob(std::string_view fields) {
  return std::string(R"({"jobs": [{"job_id": 1, "job_state": "RUNNING", )") + std::string(fields) +
         "}]}";
}

Allocation First(std::string_view text) {
  SlurmJobs jobs = ParseSlurmJobs(text);
  return jobs.allocations.empty() ? Allocation{} : jobs.allocations[0];
}

std::vector<uint32_t> GpusOf(std::string_view gres) {
  const Allocation allocation =
      First(OneJob(R"("nodes": "n1", "gres_detail": [")" + std::string(gres) + "\"]"));
  return allocation.nodes.empty() ? std::vector<uint32_t>{999} : allocation.nodes[0].gpus;
}

TEST(SlurmJobs, HaveNodesGpusAndTimesInTheOldFormAndTheNew) {
  for (const std::string_view text : {kOld, kNew}) {
    const SlurmJobs jobs = ParseSlurmJobs(text);
    EXPECT_THAT(jobs.notes, IsEmpty());
    ASSERT_THAT(jobs.allocations, SizeIs(1));
    const Allocation& job = jobs.allocations[0];
    EXPECT_EQ(job.id, 7u);
    EXPECT_EQ(job.name, "pretrain");
    EXPECT_EQ(job.user, "ana");
    EXPECT_EQ(job.state, AllocationState::kHeld);
    EXPECT_EQ(job.state_text, "RUNNING");
    EXPECT_EQ(job.start, FromNanoseconds(1'750'000'000'000'000'000));
    EXPECT_EQ(job.end, FromNanoseconds(1'750'086'400'000'000'000));
    ASSERT_THAT(job.nodes, SizeIs(3));
    EXPECT_EQ(job.nodes[0].name, "a01");
    EXPECT_THAT(job.nodes[0].gpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(job.nodes[1].name, "a02");
    EXPECT_THAT(job.nodes[1].gpus, ElementsAre(0, 1, 6));
    EXPECT_EQ(job.nodes[2].name, "b7");
    EXPECT_THAT(job.nodes[2].gpus, ElementsAre(5));
  }
}

TEST(SlurmJobs, PendingAreNoAllocations) {
  const SlurmJobs jobs = ParseSlurmJobs(
      R"({"jobs": [{"job_id": 1, "job_state": "PENDING", "nodes": ""},
                   {"job_id": 2, "job_state": ["PENDING"], "job_resources": {}},
                   {"job_id": 3, "job_state": "PENDING", "nodes": "soon1"}]})");
  EXPECT_THAT(jobs.allocations, IsEmpty());
  EXPECT_EQ(jobs.without_nodes, 3u);
  EXPECT_EQ(jobs.malformed, 0u);
}

TEST(SlurmJobs, EndOnceTheirProcessesAreGone) {
  const auto state = [](std::string_view word) {
    return First(R"({"jobs": [{"job_id": 1, "nodes": "n1", "job_state": )" + std::string(word) +
                 "}]}")
        .state;
  };
  EXPECT_EQ(state(R"("COMPLETED")"), AllocationState::kEnded);
  EXPECT_EQ(state(R"(["TIMEOUT"])"), AllocationState::kEnded);
  EXPECT_EQ(state(R"(["CANCELLED", "COMPLETING"])"), AllocationState::kHeld);
  EXPECT_EQ(state(R"("COMPLETING")"), AllocationState::kHeld);
  EXPECT_EQ(state(R"("SUSPENDED")"), AllocationState::kHeld);
}

TEST(SlurmJobs, OfOneHeterogeneousJobAreOneAllocation) {
  const SlurmJobs jobs = ParseSlurmJobs(
      R"({"jobs": [{"job_id": 21, "het_job_id": {"set": true, "number": 20}, "nodes": "n2"},
                   {"job_id": 20, "het_job_id": 20, "name": "both", "nodes": "n1"},
                   {"job_id": 22, "het_job_id": 0, "nodes": "n3"}]})");
  ASSERT_THAT(jobs.allocations, SizeIs(2));
  EXPECT_EQ(jobs.allocations[0].id, 20u);
  EXPECT_THAT(jobs.allocations[0].nodes,
              ElementsAre(Field(&AllocatedNode::name, "n2"), Field(&AllocatedNode::name, "n1")));
}

TEST(SlurmJobs, IdentifyGpusByIndexForAnyType) {
  EXPECT_THAT(GpusOf("gpu:2(IDX:0-1)"), ElementsAre(0, 1));
  EXPECT_THAT(GpusOf("gres/gpu:a100:1(IDX:3)"), ElementsAre(3));
  EXPECT_THAT(GpusOf("nic:1(IDX:0),gpu:a:1(IDX:2),gpu:b:2(IDX:4,6)"), ElementsAre(2, 4, 6));
  EXPECT_THAT(GpusOf("gpu:a100:4"), IsEmpty());
  EXPECT_THAT(GpusOf("gpu:a100:4(IDX:N/A)"), IsEmpty());
  EXPECT_THAT(GpusOf("gpu:1(IDX:0-99999999)"), IsEmpty());
  EXPECT_THAT(GpusOf("gpu:1(IDX:]"), IsEmpty());
}

TEST(SlurmJobs, WithGpusOfOtherNodesThanTheirsHaveNone) {
  const std::string text = OneJob(R"json("nodes": "n[1-2]", "gres_detail": ["gpu:1(IDX:0)"])json");
  EXPECT_THAT(First(text).nodes[0].gpus, IsEmpty());
  EXPECT_THAT(ParseSlurmJobs(text).notes, ElementsAre(HasSubstr("gres_detail lists 1 nodes")));
}

TEST(SlurmJobs, IgnoreUnsetTimes) {
  const Allocation job = First(OneJob(
      R"("nodes": "n1", "start_time": 0, "end_time": {"set": true, "infinite": true, "number": 0})"));
  EXPECT_FALSE(job.start);
  EXPECT_FALSE(job.end);
  EXPECT_FALSE(First(OneJob(R"("nodes": "n1", "start_time": 18446744073709551615)")).start);
}

TEST(SlurmJobs, WithInvalidFieldsAreCountedAndReported) {
  const SlurmJobs jobs = ParseSlurmJobs(
      R"({"jobs": [3, {"job_id": "x"}, {"job_id": 4, "nodes": "a[1"},
                   {"job_id": 5, "nodes": "a[0-99999]"}, {"job_id": 6, "nodes": "ok"}]})");
  EXPECT_EQ(jobs.malformed, 4u);
  ASSERT_THAT(jobs.allocations, SizeIs(1));
  EXPECT_EQ(jobs.allocations[0].id, 6u);
  EXPECT_THAT(jobs.notes, ElementsAre(HasSubstr("job_id"), HasSubstr("job_id"),
                                      HasSubstr("job 4: nodes: \"a[1\" has no closing ]"),
                                      HasSubstr("more than 65536 names")));
}

TEST(SlurmJobs, AreEmptyWithoutJson) {
  EXPECT_THAT(ParseSlurmJobs("JOBID PARTITION NAME").notes, ElementsAre(HasSubstr("invalid JSON")));
  EXPECT_THAT(ParseSlurmJobs("").notes, ElementsAre(HasSubstr("invalid JSON")));
  EXPECT_THAT(ParseSlurmJobs(kOld.substr(0, 300)).notes, ElementsAre(HasSubstr("invalid JSON")));
  EXPECT_THAT(ParseSlurmJobs("[]").notes, ElementsAre(HasSubstr("expected an object")));
  EXPECT_THAT(ParseSlurmJobs(R"({"jobs": [{"job_id": 1e999}]})").notes, SizeIs(1));
}

TEST(SlurmJobs, KeepTheirNodesWhateverTheEncodingOfTheirNames) {
  const Allocation job = First(OneJob("\"name\": \"M\xfcnchen\", \"nodes\": \"n1\""));
  EXPECT_EQ(job.name, "M?nchen");
  EXPECT_THAT(job.nodes, SizeIs(1));
}

TEST(SlurmJobs, WithUnlimitedNestingGiveOnlyANote) {
  const std::string deep = R"({"jobs": [{"job_id": 1, "name": )" + std::string(1'000'000, '[');
  EXPECT_THAT(ParseSlurmJobs(deep).notes, SizeIs(1));
}

// Output of squeue on real clusters: a running job of 21.08, and a pending one of a newer release.
TEST(SlurmJobs, OfARealClusterAreRead) {
  const auto path = test::Fixture("schedulers/squeue_out.json");
  if (!path) GTEST_SKIP() << "the fixture is missing";
  std::stringstream text;
  text << std::ifstream(*path).rdbuf();
  const SlurmJobs jobs = ParseSlurmJobs(text.str());
  EXPECT_THAT(jobs.notes, IsEmpty());
  EXPECT_EQ(jobs.without_nodes, 1u);
  ASSERT_THAT(jobs.allocations, SizeIs(1));
  EXPECT_EQ(jobs.allocations[0].id, 26'515'966u);
  EXPECT_THAT(jobs.allocations[0].nodes, ElementsAre(Field(&AllocatedNode::name, "cs75")));
}

}  // namespace
}  // namespace rocescope
