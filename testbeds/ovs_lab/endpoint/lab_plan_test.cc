// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/lab_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testbeds/ovs_lab/endpoint/lab_fixture.h"
#include "testbeds/ovs_lab/endpoint/plan_reader.h"
#include "topology/yaml.h"

namespace rocescope::endpoint {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  const auto plan = ParseLabPlan(text, "plan.yaml", MakeFabric(4));
  return plan ? "" : plan.error().message;
}

TEST(LabPlan, ReadsAllKeys) {
  const LabPlan plan = MakePlan(R"(
topology: fabric.yaml
seed: 7
start_number: 3
begin: 1800000000.5
duration: 2min
rate: 1500pps
nccl: "2.18"
network:
  mtu: 2048
  ack_every: 8
  ack_timeout: 20ms
  retries: 3
  window: 64
  connect_timeout: 5s
  first_psn: zero
  dcqcn: {enabled: false, g: 0.25, rate_timer: 10ms, additive: 1M, cnp_interval: 500us}
jobs:
  - name: train
    id: 12
    hosts: host[0-3]
    start: 2s
    iterations: 5
    jitter: 0.1
    queue_pairs: 2
    split_data: true
    chunk: 64K
    phases:
      - {name: dp, collective: ring, size: 1M, compute: 20ms}
      - {collective: none, compute: 5ms}
)",
                                MakeFabric(4));
  EXPECT_EQ(plan.seed, 7u);
  EXPECT_EQ(plan.start_number, 3u);
  EXPECT_EQ(plan.begin, FromNanoseconds(1'800'000'000'500'000'000));
  EXPECT_EQ(plan.duration, std::chrono::minutes(2));
  EXPECT_EQ(plan.rate.packets_per_second, 1500);
  EXPECT_EQ(plan.nccl.minor, 18);
  EXPECT_EQ(plan.transport.mtu, 2048u);
  EXPECT_EQ(plan.transport.ack_every, 8u);
  EXPECT_EQ(plan.transport.ack_timeout, std::chrono::milliseconds(20));
  EXPECT_EQ(plan.transport.retries, 3u);
  EXPECT_EQ(plan.transport.window, 64u);
  EXPECT_EQ(plan.connect_timeout, std::chrono::seconds(5));
  EXPECT_FALSE(plan.transport.dcqcn.enabled);
  EXPECT_EQ(plan.transport.dcqcn.additive, 1e6);
  EXPECT_EQ(plan.transport.dcqcn.cnp_interval, std::chrono::microseconds(500));
  ASSERT_EQ(plan.jobs.size(), 1u);
  const JobPlan& job = plan.jobs[0];
  EXPECT_EQ(job.options.name, "train");
  EXPECT_EQ(job.options.id, 12u);
  EXPECT_EQ(job.options.gpus.size(), 4u);
  EXPECT_EQ(job.options.start, std::chrono::seconds(2));
  EXPECT_EQ(job.options.chunk, 64u << 10);
  ASSERT_EQ(job.options.phases.size(), 2u);
  EXPECT_EQ(job.options.phases[0].compute, std::chrono::milliseconds(20));
  EXPECT_FALSE(job.options.phases[1].has_collective);
  ASSERT_EQ(job.channels.size(), 4u);
  EXPECT_EQ(job.channels[0].pairs.size(), 2u);
  EXPECT_EQ(job.channels[0].pairs[0].sender.first_psn, 0u);
}

TEST(LabPlan, NamesKeysThatOnlyTheSimulatorSupports) {
  const std::string error = ErrorOf(
      "faults: []\n"
      "network: {spray: true}\n"
      "jobs:\n"
      "  - {hosts: \"host[0-1]\", restarts: [], phases: [{collective: ring, size: 1M}]}\n");
  EXPECT_THAT(error, HasSubstr("plan.yaml:1:9: the key \"faults\" of a plan is supported by the "
                               "simulator only"));
  EXPECT_THAT(error, HasSubstr("the key \"spray\" of the network"));
  EXPECT_THAT(error, HasSubstr("the key \"restarts\" of a job"));
}

TEST(LabPlan, RejectsInvalidValues) {
  const auto job = [](const std::string& keys, const std::string& phase) {
    return ErrorOf("jobs: [{" + keys + ", phases: [{" + phase + "}]}]\n");
  };
  const std::string ring = "collective: ring, size: 1M";
  EXPECT_EQ(job("hosts: \"host[0-1]\"", ring), "");
  EXPECT_THAT(job("hosts: hsot1", ring), HasSubstr("the topology has no host \"hsot1\""));
  EXPECT_THAT(job("hosts: leaf0", ring), HasSubstr("the topology has no host \"leaf0\""));
  EXPECT_THAT(job("hosts: \"host0,host0\"", ring), HasSubstr("listed twice"));
  EXPECT_THAT(job("hosts: host0", ring), HasSubstr("at least two ranks"));
  EXPECT_THAT(job("hosts: \"host[0-1]\", gpus: 2", ring), HasSubstr("has 1 GPUs"));
  EXPECT_THAT(job("hosts: \"host[0-1]\", color: red", ring), HasSubstr("color"));
  EXPECT_THAT(job("hosts: \"host[0-1]\"", "collective: ring"), HasSubstr("size"));
  EXPECT_THAT(job("hosts: \"host[0-1]\"", "collective: star, size: 1M"), HasSubstr("\"star\""));
  EXPECT_THAT(job("hosts: \"host[0-2]\"", "collective: halving_doubling, size: 1M"),
              HasSubstr("power of two"));
  EXPECT_THAT(job("hosts: \"host[0-1]\", chunk: 2G", ring), HasSubstr("chunk"));
  EXPECT_THAT(ErrorOf("jobs: []\nrate: fast\n"), HasSubstr("\"fast\" is not a rate"));
  EXPECT_THAT(ErrorOf("jobs: []\nnccl: \"1.0\"\n"), HasSubstr("NCCL 1.0"));
  EXPECT_THAT(ErrorOf("seed: 1\n"), HasSubstr("jobs"));
  EXPECT_THAT(ErrorOf("jobs: []\nnetwork: {mtu: 1500}\n"), HasSubstr("1500"));
}

TEST(LabPlan, RejectsTwoJobsWithTheSameName) {
  const std::string job =
      "  - {name: a, hosts: \"host[0-1]\", phases: [{collective: ring, size: 1M}]}\n";
  EXPECT_THAT(ErrorOf("jobs:\n" + job + job), HasSubstr("two jobs have the id 2 or the name a"));
}

TEST(LabPlan, RejectsHostsWithoutAnIpv4Address) {
  topology::Fabric::Parts parts = MakeFabric(2).parts();
  parts.nics[1].addresses.clear();
  const auto plan =
      ParseLabPlan("jobs: [{hosts: \"host[0-1]\", phases: [{collective: ring, size: 1M}]}]\n",
                   "plan.yaml", topology::Fabric::Make(parts).value());
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("no IPv4 address for mlx5_0 of host1"));
}

TEST(LabPlan, FindsTheTopologyNextToThePlan) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "lab_plan_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "fabric.yaml") << topology::WriteFabric(MakeFabric(2));
  std::ofstream(folder / "plan.yaml")
      << "topology: fabric.yaml\n"
         "jobs: [{hosts: \"host[0-1]\", phases: [{collective: ring, size: 1M}]}]\n";
  std::ofstream(folder / "wrong.yaml") << "topology: missing.yaml\njobs: []\n";
  EXPECT_TRUE(LoadLabPlan((folder / "plan.yaml").string()));
  EXPECT_THAT(LoadLabPlan((folder / "wrong.yaml").string()).error().message,
              HasSubstr("missing.yaml: cannot be read"));
  EXPECT_THAT(LoadLabPlan((folder / "none.yaml").string()).error().message,
              HasSubstr("none.yaml: cannot be read"));
  std::filesystem::remove_all(folder);
}

TEST(RateLimit, ReadsBitsAndPackets) {
  EXPECT_EQ(ParseRateLimit("20M")->bits_per_second, 20e6);
  EXPECT_EQ(ParseRateLimit("250pps")->packets_per_second, 250);
  EXPECT_EQ(ParseRateLimit("250pps")->bits_per_second, 0);
  EXPECT_FALSE(ParseRateLimit("0pps"));
  EXPECT_FALSE(ParseRateLimit("pps"));
  EXPECT_FALSE(ParseRateLimit(""));
}

}  // namespace
}  // namespace rocescope::endpoint
