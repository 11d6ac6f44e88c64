// SPDX-License-Identifier: BSD-3-Clause
// Reads the logs with the parsers for real files.
#include "testbeds/ovs_lab/endpoint/host_logs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/host/nccl_log.h"
#include "dataplane/host/rdma_resource.h"
#include "testbeds/ovs_lab/endpoint/lab_fixture.h"

namespace rocescope::endpoint {
namespace {

LabPlan PlanFor(const std::string& release) {
  return MakePlan("nccl: \"" + release +
                      "\"\n"
                      "jobs: [{name: train, id: 9, hosts: \"host[0-1]\", phases: [{collective: "
                      "ring, size: 1M}]}]\n",
                  MakeFabric(2, 1, 2));
}

TEST(HostLogs, HaveTheRanksAndQueuePairsOfTheHost) {
  const LabPlan plan = PlanFor("2.20");
  const JobPlan& job = plan.jobs[0];
  const topology::NodeIndex host = job.hosts[0];
  const sim::LoggedJob logged = Describe(plan, job, kStart);
  const NcclLog log = ParseNcclLog(RenderNcclLogs(plan, logged, host), "host0.log");
  EXPECT_EQ(log.malformed, 0u);
  ASSERT_EQ(log.processes.size(), 2u);
  size_t queue_pairs = 0;
  for (const NcclProcess& process : log.processes) {
    EXPECT_EQ(process.host, "host0");
    EXPECT_EQ(process.communicators.size(), 1u);
    for (const NcclQueuePair& queue_pair : process.queue_pairs) {
      ++queue_pairs;
      EXPECT_EQ(queue_pair.address, IpAddress::FromV4(0x0a000001));
      EXPECT_EQ(queue_pair.mtu, 1024u);
      EXPECT_TRUE(std::any_of(job.channels.begin(), job.channels.end(), [&](const Channel& each) {
        return each.pairs[0].sender.qpn == queue_pair.local;
      }));
    }
  }
  EXPECT_EQ(queue_pairs, 1u);  // the ring leaves the host once
}

TEST(HostLogs, RdmaHasBothEndsAndPsns) {
  const LabPlan plan = PlanFor("2.20");
  const JobPlan& job = plan.jobs[0];
  const sim::LoggedJob logged[] = {Describe(plan, job, kStart)};
  const RdmaResource read =
      ParseRdmaResource(sim::RenderRdma(*plan.fabric, job.hosts[0], logged, {}));
  EXPECT_EQ(read.malformed, 0u);
  for (const Channel& channel : job.channels) {
    const bool sends = job.hosts[channel.from] == job.hosts[0];
    const QueuePairEnd& local = sends ? channel.pairs[0].sender : channel.pairs[0].receiver;
    const QueuePairEnd& remote = sends ? channel.pairs[0].receiver : channel.pairs[0].sender;
    const auto found =
        std::find_if(read.queue_pairs.begin(), read.queue_pairs.end(),
                     [&](const RdmaQueuePair& each) { return each.local == local.qpn; });
    ASSERT_NE(found, read.queue_pairs.end());
    EXPECT_EQ(found->remote, remote.qpn);
    EXPECT_EQ(found->send_psn, local.first_psn);
    EXPECT_EQ(found->receive_psn, remote.first_psn);
  }
}

TEST(HostLogs, AFailureIsReadForEachRelease) {
  for (const sim::NcclRelease& release : sim::NcclReleases()) {
    SCOPED_TRACE(release.version);
    const LabPlan plan = PlanFor("2." + std::to_string(release.minor));
    const JobPlan& job = plan.jobs[0];
    const sim::LoggedJob logged = Describe(plan, job, kStart);
    const std::string text =
        RenderNcclLogs(plan, logged, job.hosts[0]) +
        RenderNcclFailure(plan, job, logged,
                          {.cause = FailureCause::kRetriesExceeded, .rank = 1, .peer_rank = 2});
    const NcclLog log = ParseNcclLog(text, "host0.log");
    EXPECT_EQ(log.malformed, 0u);
    const NcclError* error = nullptr;
    for (const NcclProcess& process : log.processes) {
      if (!process.errors.empty()) error = &process.errors[0];
    }
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(error->status, 12);
    EXPECT_EQ(error->vendor_error, 129u);
    EXPECT_EQ(error->local_address, IpAddress::FromV4(0x0a000001));
    EXPECT_EQ(error->remote_address, IpAddress::FromV4(0x0a000002));
  }
}

}  // namespace
}  // namespace rocescope::endpoint
