// SPDX-License-Identifier: BSD-3-Clause
// Traffic of jobs known from the scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/job/host_facts_builder.h"

namespace rocescope {
namespace {

using test::Facts;
using test::KernelQpOn;
using test::Rank;
using test::Sender;
using test::With;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Hosts 1 to 4, n1 to n4, with two rails: their NICs are at 10.0.0.<n> and 10.0.0.<10 + n>.
Facts Fabric() {
  Facts facts;
  for (int n = 1; n <= 4; ++n) {
    const std::string host = "n" + std::to_string(n) + ".cluster.example";
    facts.Nic(host, "mlx5_0", n).Nic(host, "mlx5_1", 10 + n);
    facts.Gpu(host, 0, "0000:1b:00.0", "mlx5_0").Gpu(host, 1, "0000:AB:00.0", "mlx5_1");
  }
  return facts;
}

// Keyed by connection, the ID of the job of both ends; empty: none.
std::vector<std::string> JobsOf(const Attribution& attribution) {
  std::vector<std::string> jobs;
  for (const EndClaims& ends : attribution.endpoints) {
    if (ends[0].has_value() != ends[1].has_value()) {
      jobs.emplace_back("one end alone");
    } else if (!ends[0]) {
      jobs.emplace_back();
    } else {
      jobs.push_back(ends[0]->job == ends[1]->job ? attribution.jobs[ends[0]->job].job.id
                                                  : "two jobs");
    }
  }
  return jobs;
}

TEST(Allocation, ClaimsConnectionsBetweenItsNodes) {
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "N1"}, {.name = "n2"}}).Allocated(8, {{.name = "n3"}});
  facts.Paired(1, 100, 2, 200).Paired(11, 100, 12, 200).Paired(1, 101, 3, 300);
  facts.Paired(3, 301, 4, 400).Paired(3, 302, 13, 303);
  const Attribution found = facts.Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre("slurm-7", "slurm-7", "", "", "slurm-8"));
  ASSERT_THAT(found.jobs, SizeIs(2));
  const Job& job = found.jobs[0].job;
  EXPECT_EQ(job.identity, JobIdentity::kScheduler);
  EXPECT_EQ(job.allocation->id, 7u);
  EXPECT_EQ(job.allocation->name, "job7");
  ASSERT_THAT(job.ranks, SizeIs(4));  // NICs
  EXPECT_EQ(job.ranks[0].host, "n1.cluster.example");
  EXPECT_EQ(job.ranks[0].devices[0].name, "mlx5_0");
  EXPECT_EQ(job.ranks[0].rank, -1);
  EXPECT_EQ(found.endpoints[0][0]->source, RankSource::kScheduler);
}

TEST(Allocation, ClaimsOneSidedConnections) {
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).OneSided(1, 100, 2);
  EXPECT_THAT(JobsOf(facts.Attribute()), ElementsAre("slurm-7"));
}

TEST(Allocation, OfSharedNodesIsIdentifiedByTheOtherNode) {
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}});
  facts.Allocated(8, {{.name = "n1"}, {.name = "n3"}});
  facts.Paired(1, 100, 2, 200).Paired(1, 101, 3, 300).Paired(2, 201, 3, 301);
  EXPECT_THAT(JobsOf(facts.Attribute()), ElementsAre("slurm-7", "slurm-8", ""));
}

TEST(Allocation, OfSharedNodesIsIdentifiedByTheNearestGpus) {
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1", .gpus = {0}}, {.name = "n2", .gpus = {0}}});
  facts.Allocated(8, {{.name = "n1", .gpus = {1}}, {.name = "n2", .gpus = {1}}});
  facts.Paired(1, 100, 2, 200).Paired(11, 100, 12, 200);
  const Attribution found = facts.Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre("slurm-7", "slurm-8"));
  EXPECT_EQ(found.jobs[1].job.ranks[0].gpu_bus_id, "0000:AB:00.0");
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(Allocation, IsAmbiguousIfSeveralMatch) {
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}});
  facts.Allocated(8, {{.name = "n1"}, {.name = "n2"}});
  facts.Allocated(9, {{.name = "n1", .gpus = {1}}, {.name = "n2", .gpus = {1}}});
  facts.Paired(1, 100, 2, 200);
  const Attribution found = facts.Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre(""));
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("scheduler: 1 connection is not attributed, because several")));
}

TEST(Allocation, EndsWithItsTime) {
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).From(100).EndedAt(200);
  facts.Allocated(8, {{.name = "n1"}, {.name = "n2"}}).From(210);
  facts.Paired(1, 100, 2, 200).SeenFrom(150, 160);
  facts.Paired(1, 101, 2, 201).SeenFrom(230, 240);
  facts.Paired(1, 102, 2, 202).SeenFrom(50, 60);
  EXPECT_THAT(JobsOf(facts.Attribute()), ElementsAre("slurm-7", "slurm-8", ""));
}

TEST(Allocation, WithoutNodeAddressesGivesANote) {
  Facts facts;
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).Paired(1, 100, 2, 200);
  const Attribution found = facts.Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre(""));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("2 of 2 allocated nodes are not used")));
}

RdmaQueuePair Held(const char* device, uint32_t local, uint32_t remote, uint64_t process,
                   const char* command) {
  RdmaQueuePair result = KernelQpOn(device, local, remote, process);
  result.command = command;
  return result;
}

// Two processes with one rail each, and a benchmark with another name.
Facts Rails() {
  Facts facts = Fabric();
  facts.Dump("n1", {Held("mlx5_0", 100, 200, 1, "python3"), Held("mlx5_1", 100, 200, 2, "python3"),
                    Held("mlx5_0", 900, 901, 9, "ib_write_bw")});
  facts.Dump("n2", {Held("mlx5_0", 200, 100, 1, "python3"), Held("mlx5_1", 200, 100, 2, "python3"),
                    Held("mlx5_0", 901, 900, 9, "ib_write_bw")});
  facts.Paired(1, 100, 2, 200).Paired(11, 100, 12, 200).Paired(1, 900, 2, 901);
  return facts;
}

TEST(Allocation, MakesOneJobOfProcessesOnSeveralRails) {
  EXPECT_THAT(Rails().Attribute().jobs, SizeIs(3));
  const Attribution found = Rails().Allocated(7, {{.name = "n1"}, {.name = "n2"}}).Attribute();
  ASSERT_THAT(found.jobs, SizeIs(2));
  EXPECT_THAT(JobsOf(found), ElementsAre("python3-n1:1", "python3-n1:1", "ib_write_bw-n1:9"));
  EXPECT_EQ(found.jobs[1].job.allocation->id, 7u);
  EXPECT_EQ(found.jobs[1].job.identity, JobIdentity::kKernel);
}

// The processes of Rails() start again, with new queue pairs on the same NICs.
TEST(Allocation, SeparatesTheIncarnationsOfARestartedJob) {
  Facts facts = Fabric();
  facts.Dump("n1",
             {Held("mlx5_0", 100, 200, 1, "python3"), Held("mlx5_1", 100, 200, 2, "python3"),
              Held("mlx5_0", 101, 201, 3, "python3"), Held("mlx5_1", 101, 201, 4, "python3")});
  facts.Dump("n2",
             {Held("mlx5_0", 200, 100, 1, "python3"), Held("mlx5_1", 200, 100, 2, "python3"),
              Held("mlx5_0", 201, 101, 3, "python3"), Held("mlx5_1", 201, 101, 4, "python3")});
  facts.Paired(1, 100, 2, 200).SeenFrom(100, 200).Paired(11, 100, 12, 200).SeenFrom(110, 199);
  facts.Paired(1, 101, 2, 201).SeenFrom(230, 300).Paired(11, 101, 12, 201).SeenFrom(220, 300);
  const Attribution found = facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).Attribute();
  ASSERT_THAT(found.jobs, SizeIs(2));
  EXPECT_THAT(JobsOf(found),
              ElementsAre("python3-n1:1", "python3-n1:1", "python3-n1:3", "python3-n1:3"));
  for (const AttributedJob& job : found.jobs) {
    EXPECT_THAT(job.job.ranks, SizeIs(4));
    EXPECT_EQ(job.job.allocation->id, 7u);
  }
}

TEST(Allocation, SeparatesJobsOfTwoAllocations) {
  const Attribution found =
      Rails()
          .Allocated(7, {{.name = "n1", .gpus = {0}}, {.name = "n2", .gpus = {0}}})
          .Allocated(8, {{.name = "n1", .gpus = {1}}, {.name = "n2", .gpus = {1}}})
          .Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre("python3-n1:1", "python3-n1:2", "ib_write_bw-n1:9"));
}

JobRank Logged(int rank, std::string host, std::string gpu) {
  JobRank result = With(Rank(rank), {Sender(static_cast<uint32_t>(100 * rank), rank, 3 - rank)});
  result.host = std::move(host);
  result.gpu_bus_id = std::move(gpu);
  return result;
}

TEST(Allocation, IsAddedToTheJobOfALog) {
  const Attribution found = Fabric()
                                .Log(Logged(1, "n1", "0000:1b:00.0"))
                                .Log(Logged(2, "n2", "0000:1b:00.0"))
                                .Allocated(7, {{.name = "n1"}, {.name = "n2"}})
                                .Paired(1, 100, 2, 200)
                                .Paired(11, 500, 12, 600)
                                .Attribute();
  ASSERT_THAT(found.jobs, SizeIs(1));
  EXPECT_EQ(found.jobs[0].job.allocation->id, 7u);
  EXPECT_THAT(JobsOf(found), ElementsAre("job", "job"));
  EXPECT_EQ(found.endpoints[0][0]->rank, 1);
  EXPECT_EQ(found.endpoints[1][0]->rank, -1);
  EXPECT_THAT(found.jobs[0].job.ranks, SizeIs(2)) << "its NICs are not processes without a rank";
}

// Traffic within the allocation of which no log contains the queue pairs.
TEST(Allocation, IsAddedToTheStartOfARestartedJobThatRanAtThatTime) {
  const auto job = [](std::string id, uint32_t qpn) {
    return Job{.id = std::move(id),
               .ranks = {With(Logged(1, "n1", ""), {Sender(qpn, 1, 2)}),
                         With(Logged(2, "n2", ""), {Sender(qpn, 2, 1)})}};
  };
  Facts facts = Fabric();
  facts.Jobs({job("a", 100), job("b", 300)}).Allocated(7, {{.name = "n1"}, {.name = "n2"}});
  facts.Paired(1, 100, 2, 200).SeenFrom(100, 200).Paired(1, 300, 2, 400).SeenFrom(250, 400);
  facts.Paired(11, 500, 12, 600).SeenFrom(110, 190).Paired(11, 501, 12, 601).SeenFrom(390, 410);
  const Attribution found = facts.Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(found.jobs, SizeIs(2));
}

TEST(Allocation, OfALoggedJobHeldItsNodesAtThatTime) {
  const auto seen = [](int64_t from, int64_t until) {
    Facts facts = Fabric();
    facts.Log(Logged(1, "n1", "0000:1b:00.0")).Log(Logged(2, "n2", "0000:1b:00.0"));
    facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).From(100).EndedAt(200);
    facts.Allocated(8, {{.name = "n1"}, {.name = "n2"}}).From(210);
    facts.Paired(1, 100, 2, 200).SeenFrom(from, until);
    return facts.Attribute().jobs[0].job.allocation;
  };
  EXPECT_EQ(seen(150, 160)->id, 7u);
  EXPECT_EQ(seen(230, 240)->id, 8u);
  EXPECT_FALSE(seen(50, 60));
}

// Without traffic, the time of a job is unknown.
TEST(Allocation, IsNotSharedByJobsOfWhichOneMayHaveEnded) {
  const auto job = [](std::string id, uint64_t process) {
    Job made{.id = std::move(id), .ranks = {Logged(1, "n1", ""), Logged(2, "n2", "")}};
    for (JobRank& rank : made.ranks) rank.process_id = process;
    return made;
  };
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).From(100).EndedAt(200);
  facts.Allocated(8, {{.name = "n1"}, {.name = "n2"}}).From(210);
  const Attribution one = Facts(facts).Jobs({job("a", 1)}).Attribute();
  EXPECT_EQ(one.jobs[0].job.allocation->id, 8u);
  const Attribution both = Facts(facts).Jobs({job("a", 1), job("b", 2)}).Attribute();
  for (const AttributedJob& each : both.jobs) {
    EXPECT_FALSE(each.job.allocation);
    EXPECT_THAT(each.job.notes, ElementsAre(HasSubstr("for example 7 and 8")));
  }
}

// Their process IDs show which job was first.
TEST(Allocation, OfJobsInSuccessionAreMatchedInOrder) {
  const auto job = [](std::string id, uint64_t process) {
    Job made{.id = std::move(id),
             .ranks = {Logged(1, "n1", "0000:1b:00.0"), Logged(2, "n2", "0000:1b:00.0")}};
    for (JobRank& rank : made.ranks) rank.process_id = process;
    return made;
  };
  Facts facts = Fabric();
  facts.Allocated(7, {{.name = "n1"}, {.name = "n2"}}).From(100).EndedAt(200);
  facts.Allocated(8, {{.name = "n1"}, {.name = "n2"}}).From(210);
  const Attribution found = Facts(facts).Jobs({job("a", 20), job("b", 10)}).Attribute();
  EXPECT_EQ(found.jobs[0].job.allocation->id, 8u);
  EXPECT_EQ(found.jobs[1].job.allocation->id, 7u);
  const Attribution three =
      Facts(facts).Jobs({job("a", 20), job("b", 10), job("c", 15)}).Attribute();
  for (const AttributedJob& each : three.jobs) EXPECT_FALSE(each.job.allocation);
}

// Each pair of storage processes would otherwise be a job.
TEST(Allocation, OfNoPairsOfOtherProcesses) {
  Facts facts = Fabric();
  facts.Dump("n1", {Held("mlx5_0", 100, 200, 1, "storage"), Held("mlx5_0", 101, 201, 2, "storage"),
                    Held("mlx5_0", 102, 202, 3, "python3")});
  facts.Dump("n2", {Held("mlx5_0", 200, 100, 1, "storage"), Held("mlx5_0", 201, 101, 2, "storage"),
                    Held("mlx5_0", 202, 102, 3, "python3")});
  facts.Paired(1, 100, 2, 200).Sent(1, 2, 200, 1000).Paired(1, 101, 2, 201).Sent(1, 2, 201, 1000);
  facts.Paired(1, 102, 2, 202).Sent(1, 2, 202, 1000).Asked(2, 1, 102);
  const Attribution found = facts.Attribute();
  EXPECT_THAT(JobsOf(found), ElementsAre("other-storage", "other-storage", "python3-n1:3"));
  const auto other = std::ranges::find_if(
      found.jobs, [](const AttributedJob& job) { return job.job.is_other_traffic; });
  ASSERT_NE(other, found.jobs.end());
  EXPECT_THAT(other->job.ranks, SizeIs(4));
}

TEST(Allocation, OfALoggedJobHoldsItsGpus) {
  const auto with_gpu = [](const char* pci) {
    return Fabric()
        .Log(Logged(1, "n1", pci))
        .Log(Logged(2, "n2", pci))
        .Allocated(7, {{.name = "n1", .gpus = {0}}, {.name = "n2", .gpus = {0}}})
        .Allocated(8, {{.name = "n1", .gpus = {1}}, {.name = "n2", .gpus = {1}}})
        .Attribute()
        .jobs[0]
        .job;
  };
  EXPECT_EQ(with_gpu("0000:1b:00.0").allocation->id, 7u);
  EXPECT_EQ(with_gpu("0000:ab:00.0").allocation->id, 8u);
  const Job unknown = with_gpu("0000:ff:00.0");
  EXPECT_FALSE(unknown.allocation);
  EXPECT_THAT(unknown.notes, ElementsAre(HasSubstr("for example 7 and 8")));
}

TEST(Allocation, MayListANodeTwice) {  // once per component of a heterogeneous job
  const Attribution found = Fabric()
                                .Log(Logged(1, "n1", ""))
                                .Log(Logged(2, "n2", ""))
                                .Allocated(7, {{.name = "n1"}, {.name = "n2"}, {.name = "n1"}})
                                .Attribute();
  EXPECT_EQ(found.jobs[0].job.allocation->id, 7u);
  EXPECT_THAT(found.jobs[0].job.notes, IsEmpty());
}

TEST(Allocation, WithoutAHostOfTheJobDoesNotMatch) {
  const Attribution found = Fabric()
                                .Log(Logged(1, "n1", ""))
                                .Log(Logged(2, "n2", ""))
                                .Allocated(7, {{.name = "n1"}, {.name = "n3"}})
                                .Attribute();
  EXPECT_FALSE(found.jobs[0].job.allocation);
}

}  // namespace
}  // namespace rocescope
