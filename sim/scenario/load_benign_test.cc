// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kFabric =
    "name: test\n"
    "fabric: {generate: {shape: leaf-spine, hosts: 8, leaves: 2, spines: 2, host_speed: 100G, "
    "fabric_speed: 100G}}\n";

Result<Scenario> Load(std::string_view rest) {
  return LoadScenario(std::string(kFabric) + std::string(rest), "test.yaml");
}
std::string Message(std::string_view rest) {
  const auto scenario = Load(rest);
  return scenario ? std::string() : scenario.error().message;
}
std::string JobMessage(std::string_view keys) {
  return Message(fmt::format(
      "jobs: [{{hosts: 'host[0-3]', phases: [{{collective: ring, size: 1M}}], {}}}]\n", keys));
}

TEST(LoadBenignTest, ReadsAllKeys) {
  const auto scenario = Load(
      "duration: 1d\n"
      "network: {lossy_alpha: 0.02}\n"
      "benign:\n"
      "  bit_error_ratio: [1e-15, 1e-13]\n"
      "  pre_fec_bit_error_ratio: [1e-9, 1e-6]\n"
      "  frame_errors: {ports: 0.03, frames: 2}\n"
      "  microbursts: {period: 10min, senders: 6, frames: 3}\n"
      "  harmless_discards: {ports: 0.1, period: 30s}\n"
      "  gpu_clock_spread: 0.05\n"
      "maintenance:\n"
      "- {link: 'leaf0:Ethernet5', start: 1h, drain: 5min, duration: 20min}\n"
      "- {switch: spine1, start: 2h, drain: 5min, duration: 10min}\n"
      "- {host: host7, start: 3h, duration: 8min}\n"
      "foreign:\n"
      "- {from: host4, to: host1, load: 0.1, message: 64K, priority: 1, start: 1s, end: 2h}\n");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  const BenignOptions& benign = scenario->benign;
  EXPECT_EQ(scenario->duration, 86'400 * kSecond);
  EXPECT_EQ(scenario->network.switches.buffer.egress_alpha, 0.02);
  EXPECT_EQ(benign.bit_error_ratio.least, 1e-15);
  EXPECT_EQ(benign.bit_error_ratio.most, 1e-13);
  EXPECT_EQ(benign.pre_fec_bit_error_ratio.most, 1e-6);
  EXPECT_EQ(benign.frame_errors.ports, 0.03);
  EXPECT_EQ(benign.frame_errors.frames, 2u);
  EXPECT_EQ(benign.microbursts.period, 600 * kSecond);
  EXPECT_EQ(benign.microbursts.senders, 6u);
  EXPECT_EQ(benign.harmless_discards.period, 30 * kSecond);
  EXPECT_EQ(benign.gpu_clock_spread, 0.05);
  ASSERT_THAT(scenario->maintenance, SizeIs(3));
  EXPECT_EQ(scenario->maintenance[0].kind, MaintenanceKind::kLinkDrain);
  EXPECT_EQ(scenario->maintenance[0].drain, 300 * kSecond);
  EXPECT_EQ(scenario->maintenance[1].node, scenario->fabric->FindNode("spine1"));
  EXPECT_EQ(scenario->maintenance[2].kind, MaintenanceKind::kHostReboot);
  ASSERT_THAT(scenario->foreign, SizeIs(1));
  EXPECT_EQ(scenario->foreign[0].message, 65'536u);
  EXPECT_EQ(scenario->foreign[0].priority, 1);
  EXPECT_EQ(scenario->foreign[0].end, 7200 * kSecond);
}

TEST(LoadBenignTest, ReadsWhatInterruptsAJob) {
  const auto scenario = Load(
      "jobs:\n"
      "- hosts: 'host[0-3]'\n"
      "  end: 9ms\n"
      "  phases: [{collective: ring, size: 1M, compute: 50us}]\n"
      "  interludes:\n"
      "  - {name: compile, after: 1, phases: [{collective: none, compute: 1ms}]}\n"
      "  - {name: evaluation, every: 5, phases: [{collective: tree, size: 64K}]}\n"
      "  checkpoint: {every: 3, size: 2M, to: 'host[6-7]', blocking: false}\n"
      "  restarts: [{at: 2ms, downtime: 500us}, {at: 5ms, downtime: 1ms}]\n");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  const JobOptions& job = scenario->jobs.at(0);
  EXPECT_EQ(job.end, 9 * kMillisecond);
  ASSERT_THAT(job.interludes, SizeIs(2));
  EXPECT_FALSE(job.interludes[0].phases.at(0).has_collective);
  EXPECT_EQ(job.interludes[0].after, 1u);
  EXPECT_EQ(job.interludes[1].every, 5u);
  EXPECT_EQ(job.interludes[1].phases.at(0).collective.kind, CollectiveKind::kTree);
  EXPECT_EQ(job.checkpoint.bytes, 2u << 20);
  EXPECT_THAT(job.checkpoint.to, SizeIs(2));
  EXPECT_FALSE(job.checkpoint.blocking);
  ASSERT_THAT(job.restarts, SizeIs(2));
  EXPECT_EQ(job.restarts[1].downtime, kMillisecond);
}

TEST(LoadBenignTest, ImpossibleValuesAreErrors) {
  EXPECT_THAT(Message("benign: {bit_error_ratio: [1e-13, 1e-15]}\n"),
              HasSubstr("test.yaml:3:27: the first value of bit_error_ratio"));
  EXPECT_THAT(Message("benign: {bit_error_ratio: 1e-13}\n"), HasSubstr("test.yaml:3:27"));
  EXPECT_THAT(Message("benign: {bit_error_ratio: [1e-13]}\n"), HasSubstr("[least, most]"));
  EXPECT_THAT(Message("benign: {bit_error_ratio: [nan, 1e-13]}\n"), HasSubstr("\"nan\""));
  EXPECT_THAT(Message("benign: {frame_errors: {ports: 1.1}}\n"), HasSubstr("\"1.1\""));
  EXPECT_THAT(Message("benign: {frame_errors: {}}\n"), HasSubstr("ports"));
  EXPECT_THAT(Message("benign: {microbursts: {period: 1us}}\n"), HasSubstr("at least 100us"));
  EXPECT_THAT(Message("benign: {harmless_discards: {ports: 0.5, period: 0}}\n"),
              HasSubstr("at least 1us"));
  EXPECT_THAT(Message("benign: {gpu_clock_spread: 0.9}\n"), HasSubstr("\"0.9\""));
  EXPECT_THAT(Message("benign: {bit_errors: 1}\n"), HasSubstr("bit_error_ratio"));
}

TEST(LoadBenignTest, MaintenanceNeedsOnePlaceAndATime) {
  EXPECT_THAT(Message("maintenance: [{start: 1ms, duration: 1ms}]\n"),
              HasSubstr("test.yaml:3:15: a maintenance task needs one place"));
  EXPECT_THAT(Message("maintenance: [{host: host1, switch: spine0, duration: 1ms}]\n"),
              HasSubstr("one place"));
  EXPECT_THAT(Message("maintenance: [{switch: host1, duration: 1ms}]\n"),
              HasSubstr("no switch \"host1\""));
  EXPECT_THAT(Message("maintenance: [{host: spine1, duration: 1ms}]\n"),
              HasSubstr("no host \"spine1\""));
  EXPECT_THAT(Message("maintenance: [{host: host1, start: 10ms, duration: 1ms}]\n"),
              HasSubstr("after the run"));
  EXPECT_THAT(Message("maintenance: [{host: host1}]\n"), HasSubstr("duration"));
}

TEST(LoadBenignTest, HostOfAJobCannotReboot) {
  const auto message = [](std::string_view end) {
    return Message(
        fmt::format("jobs: [{{hosts: 'host[0-3]', {}phases: [{{collective: ring, size: 1M}}]}}]\n"
                    "maintenance: [{{host: host2, start: 4ms, duration: 1ms}}]\n",
                    end));
  };
  EXPECT_THAT(message(""), HasSubstr("test.yaml:4:22: the job job1 uses the host"));
  EXPECT_EQ(message("end: 3ms, "), "");
}

TEST(LoadBenignTest, ForeignTrafficStaysOutOfLosslessClasses) {
  EXPECT_THAT(Message("foreign: [{from: host0, to: host1, priority: 3}]\n"),
              HasSubstr("without PFC"));
  EXPECT_THAT(Message("foreign: [{from: host0, to: host0}]\n"), HasSubstr("two different NICs"));
  EXPECT_THAT(Message("foreign: [{from: host0, to: host1, start: 2ms, end: 1ms}]\n"),
              HasSubstr("end must be after start"));
}

TEST(LoadBenignTest, ImpossibleInterruptionsAreErrors) {
  EXPECT_THAT(JobMessage("end: 0"), HasSubstr("end must be after its start"));
  EXPECT_THAT(JobMessage("interludes: [{phases: [{collective: none, compute: 1ms}]}]"),
              HasSubstr("after, every, or both"));
  EXPECT_THAT(JobMessage("interludes: [{every: 2, phases: []}]"),
              HasSubstr("an interlude needs at least one phase"));
  EXPECT_THAT(JobMessage("interludes: [{every: 2, phases: [{collective: none}]}]"),
              HasSubstr("at least 1us"));
  EXPECT_THAT(JobMessage("interludes: [{every: 2, phases: [{collective: none, compute: 1ms, size: "
                         "1M}]}]"),
              HasSubstr("has no size"));
  EXPECT_THAT(JobMessage("checkpoint: {every: 2, size: 1M, to: 'host[3-4]'}"),
              HasSubstr("must not be on a NIC of the job"));
  EXPECT_THAT(JobMessage("checkpoint: {size: 1M, to: host7}"), HasSubstr("every"));
  EXPECT_THAT(JobMessage("restarts: [{at: 1ms, downtime: 1ms}, {at: 1500us, downtime: 1ms}]"),
              HasSubstr("after its previous restart"));
  EXPECT_THAT(JobMessage("end: 2ms, restarts: [{at: 1ms, downtime: 1ms}]"),
              HasSubstr("before the job's end"));
  EXPECT_EQ(JobMessage("checkpoint: {every: 2, size: 1M, to: host7}"), "");
}

TEST(LoadBenignTest, ErrorsAndBurstsAreLimited) {
  EXPECT_THAT(Message("benign: {bit_error_ratio: [1e-13, 0.1]}\n"), HasSubstr("\"0.1\""));
  EXPECT_THAT(Message("benign: {pre_fec_bit_error_ratio: [1e-9, 0.01]}\n"), HasSubstr("\"0.01\""));
  EXPECT_THAT(Message("duration: 1d\nbenign: {bit_error_ratio: [1e-9, 1e-8]}\n"),
              HasSubstr("test.yaml:4:27: bit_error_ratio would cause up to"));
  EXPECT_THAT(Message("benign: {frame_errors: {ports: 0.1, frames: 1000000}}\n"),
              HasSubstr("from 1 to 10000"));
  EXPECT_EQ(Message("benign: {frame_errors: {ports: 1, frames: 10000}}\n"), "");
  EXPECT_THAT(Message("duration: 1d\nbenign: {microbursts: {period: 1s, senders: 8}}\n"),
              HasSubstr("use a longer period"));
}

TEST(LoadBenignTest, OnlySomeFaultsGrow) {
  EXPECT_THAT(Message("faults: [{kind: link_down, link: 'leaf0:Ethernet5', growth: 0.1}]\n"),
              HasSubstr("link_down has no growth: its parameters are onset and duration"));
  EXPECT_THAT(Message("faults: [{kind: gray_loss, link: 'leaf0:Ethernet5', growth: 0}]\n"),
              HasSubstr("\"0\" is not a number"));
  const auto scenario = Load("faults: [{kind: gray_loss, link: 'leaf0:Ethernet5', growth: 0.1}]\n");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  EXPECT_EQ(scenario->faults.at(0).growth, 0.1);
}

}  // namespace
}  // namespace rocescope::sim
