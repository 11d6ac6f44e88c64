// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::string_view kFabric =
    "name: test\n"
    "fabric: {generate: {shape: leaf-spine, hosts: 4, leaves: 2, spines: 2, host_speed: 100G, "
    "fabric_speed: 100G}}\n";

std::string Message(std::string_view rest) {
  const auto scenario = LoadScenario(std::string(kFabric) + std::string(rest), "test.yaml");
  return scenario ? std::string() : scenario.error().message;
}

TEST(LoadScenarioTest, ReadsAllKeys) {
  const auto scenario = LoadScenario(std::string(kFabric) +
                                         "seed: 7\n"
                                         "duration: 2.5ms\n"
                                         "network: {mtu: 1024, ecn_minimum: 64K}\n"
                                         "jobs:\n"
                                         "- {name: a, hosts: 'host[0-3]', phases: [{collective: "
                                         "ring, size: 1M, compute: 50us}]}\n"
                                         "faults:\n"
                                         "- {kind: gray_loss, sender: 'leaf0:Ethernet3', onset: "
                                         "1ms, probability: 0.5}\n"
                                         "- {kind: incast, nic: host0, senders: 'host[1-3]'}\n",
                                     "test.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  EXPECT_EQ(scenario->seed, 7u);
  EXPECT_EQ(scenario->duration, 2'500 * kMicrosecond);
  EXPECT_EQ(scenario->network.nics.mtu, 1024u);
  EXPECT_EQ(scenario->network.switches.ecn.minimum, 65'536u);
  ASSERT_THAT(scenario->jobs, SizeIs(1));
  EXPECT_THAT(scenario->jobs[0].gpus, SizeIs(4));
  EXPECT_EQ(scenario->jobs[0].phases[0].compute, 50 * kMicrosecond);
  ASSERT_THAT(scenario->faults, SizeIs(2));
  const topology::Fabric& fabric = *scenario->fabric;
  EXPECT_EQ(fabric.NameOf(scenario->faults[0].sender), "leaf0:Ethernet3");
  EXPECT_EQ(scenario->faults[0].duration, kNever);
  EXPECT_THAT(scenario->faults[1].senders, SizeIs(3));
}

TEST(LoadScenarioTest, UnknownKeySuggestsTheNearest) {
  EXPECT_THAT(Message("jubs: []\n"), HasSubstr("test.yaml:3:1"));
  EXPECT_THAT(Message("jubs: []\n"), HasSubstr("jobs"));
}

TEST(LoadScenarioTest, UnknownLocationIsAnError) {
  EXPECT_THAT(Message("faults: [{kind: link_down, link: 'leaf0:Ethernet99'}]\n"),
              HasSubstr("leaf0:Ethernet99"));
  EXPECT_THAT(Message("faults: [{kind: link_down, link: 'leaf9:Ethernet1'}]\n"),
              HasSubstr("the fabric has no \"leaf9\""));
  EXPECT_THAT(Message("faults: [{kind: link_down, nic: host0}]\n"),
              HasSubstr("link_down needs a location: link"));
  EXPECT_THAT(Message("faults: [{kind: switch_crash, switch: host0}]\n"),
              HasSubstr("no switch \"host0\""));
  EXPECT_THAT(Message("faults: [{kind: straggler, gpu: 'host0:9'}]\n"), HasSubstr("is not a GPU"));
}

TEST(LoadScenarioTest, NumberOutOfRangeIsAnError) {
  EXPECT_THAT(Message("jobs: [{hosts: 'host[0-3]', chunk: 4G, phases: [{collective: ring, size: "
                      "1M}]}]\n"),
              HasSubstr("test.yaml:3:36: chunk must be at most 4294967295"));
}

TEST(LoadScenarioTest, RankHasOneGpuAndOneGroup) {
  const auto job = [](std::string_view hosts, std::string_view more) {
    return Message(
        fmt::format("jobs: [{{id: 7, hosts: '{}', phases: [{{collective: ring, size: 1M{}}}]}}]\n",
                    hosts, more));
  };
  EXPECT_EQ(job("host[0-3]", ""), "");
  EXPECT_THAT(job("host0,host0", ""), HasSubstr("test.yaml:3:23: the host host0 is listed twice"));
  EXPECT_THAT(job("host[0-3]", ", groups: [[0, 1], [1, 2]]"),
              HasSubstr("rank 1 is already in one of these groups"));
  EXPECT_THAT(Message("jobs: [{hosts: 'host[0-3]', phases: []}]\n"),
              HasSubstr("test.yaml:3:37: a job needs at least one phase"));
  EXPECT_THAT(Message("jobs:\n"
                      "- {id: 7, hosts: 'host[0-1]', phases: [{collective: ring, size: 1M}]}\n"
                      "- {id: 7, hosts: 'host[2-3]', phases: [{collective: ring, size: 1M}]}\n"),
              HasSubstr("test.yaml:5:3: two jobs have the same id, 7"));
}

TEST(LoadScenarioTest, TooShortPeriodIsAnError) {
  EXPECT_THAT(Message("telemetry: {counter_period: 1ns}\n"),
              HasSubstr("counter_period must be at least 1us"));
  EXPECT_THAT(Message("network: {pfc_watchdog: 10us}\n"), HasSubstr("watchdog's times"));
  EXPECT_EQ(Message("time_scale: 1\nnetwork: {pfc_watchdog: 10us}\n"), "");
}

TEST(LoadScenarioTest, TimesOfFlowScenariosAreRealByDefault) {
  const auto flow = LoadScenario(std::string(kFabric) + "model: flow\n", "test.yaml");
  ASSERT_TRUE(flow) << flow.error().message;
  EXPECT_EQ(flow->time_scale, 1);
  EXPECT_EQ(flow->record_interval, std::chrono::seconds(1));
  EXPECT_EQ(flow->analysis_window, std::chrono::seconds(30));
}

TEST(LoadScenarioTest, FlowScenariosReadCountersOnceInAWindow) {
  const auto flow =
      LoadScenario(std::string(kFabric) + "model: flow\nanalysis_window: 60s\n", "test.yaml");
  ASSERT_TRUE(flow) << flow.error().message;
  EXPECT_EQ(flow->telemetry.counter_period, 60 * kSecond);
  const auto packet = LoadScenario(kFabric, "test.yaml");
  ASSERT_TRUE(packet) << packet.error().message;
  EXPECT_EQ(packet->telemetry.counter_period, kMillisecond);
}

TEST(LoadScenarioTest, FaultsWithoutEffectAreErrors) {
  EXPECT_THAT(Message("faults: [{kind: gray_loss, sender: 'leaf0:Ethernet3', probability: 0}]\n"),
              HasSubstr("probability must be above 0"));
  EXPECT_THAT(Message("faults: [{kind: incast, nic: host0, senders: 'host[1-3]', message: 0}]\n"),
              HasSubstr("message must be from 1 byte"));
  EXPECT_THAT(Message("streams: [{from: host0, to: host1, message: 0}]\n"),
              HasSubstr("message must be from 1 byte"));
}

TEST(LoadScenarioTest, ParametersThatTheKindDoesNotUseAreErrors) {
  EXPECT_THAT(Message("faults: [{kind: gray_loss, link: 'leaf0:Ethernet3', factor: 0.5}]\n"),
              HasSubstr("test.yaml:3:61: gray_loss has no factor: its parameters are probability, "
                        "burst, least_length, growth"));
  EXPECT_THAT(Message("faults: [{kind: link_down, link: 'leaf0:Ethernet3', probability: 0.5}]\n"),
              HasSubstr("link_down has no probability: its parameters are onset and duration"));
  EXPECT_THAT(Message("faults: [{kind: gray_loss, link: 'leaf0:Ethernet3', switch: leaf0}]\n"),
              HasSubstr("sender: NODE:PORT, not switch"));
  EXPECT_THAT(Message("faults: [{kind: flap, sender: 'leaf0:Ethernet3'}]\n"),
              HasSubstr("flap affects both directions of the link: use link"));
  EXPECT_THAT(Message("faults: [{kind: gray_loss, link: 'leaf0:Ethernet3', sender: "
                      "'leaf0:Ethernet3'}]\n"),
              HasSubstr("one location: link or sender"));
  EXPECT_EQ(Message("faults: [{kind: blackhole, switch: leaf0, nic: host0}]\n"), "");
}

TEST(LoadScenarioTest, FaultsThatStopAllTrafficForeverAreErrors) {
  EXPECT_THAT(Message("faults: [{kind: slow_receiver, nic: host0, rate: 1}]\n"),
              HasSubstr("slow_receiver: rate must be at least 1M"));
  EXPECT_THAT(Message("faults: [{kind: added_latency, link: 'leaf0:Ethernet3', delay: 2s}]\n"),
              HasSubstr("delay must be at most 1s"));
  EXPECT_EQ(Message("faults: [{kind: slow_receiver, nic: host0, rate: 1M}]\n"), "");
}

TEST(LoadScenarioTest, TheFlowModelHasNoPackets) {
  EXPECT_THAT(Message("model: flow\ntelemetry: {mirror: leaf}\n"),
              HasSubstr("test.yaml:4:21: the flow model has no mirrored packets"));
  EXPECT_THAT(Message("model: flow\ntelemetry: {int_exponent: 3}\n"),
              HasSubstr("test.yaml:4:27: the flow model has no INT reports"));
  EXPECT_EQ(Message("telemetry: {mirror: leaf, int_exponent: 3}\n"), "");
  const std::string packet = std::string(kFabric) + "telemetry: {mirror: leaf}\n";
  const auto as_flow = LoadScenario(packet, "test.yaml", std::nullopt, Model::kFlow);
  ASSERT_FALSE(as_flow.has_value());
  EXPECT_THAT(as_flow.error().message, HasSubstr("no mirrored packets"));
  const auto flow = LoadScenario(std::string(kFabric) + "model: flow\n", "test.yaml");
  ASSERT_TRUE(flow) << flow.error().message;
  EXPECT_THAT(flow->telemetry.mirrors, IsEmpty());
}

TEST(LoadScenarioTest, AGpuBelongsToOneJobAtATime) {
  const auto jobs = [](std::string_view first, std::string_view second) {
    return Message(
        fmt::format("duration: 10ms\njobs:\n"
                    "- {{name: a, hosts: 'host[0-1]', {}phases: [{{collective: ring, "
                    "size: 1M}}]}}\n"
                    "- {{name: b, hosts: 'host[1-2]', {}phases: [{{collective: ring, "
                    "size: 1M}}]}}\n",
                    first, second));
  };
  EXPECT_THAT(jobs("", ""),
              HasSubstr("test.yaml:6:3: the jobs a and b use GPU host1:0 at the same time"));
  EXPECT_THAT(jobs("end: 5ms, ", "start: 4ms, "), HasSubstr("at the same time"));
  EXPECT_EQ(jobs("end: 5ms, ", "start: 5ms, "), "");
  EXPECT_EQ(jobs("start: 5ms, ", "end: 5ms, "), "");
}

TEST(LoadScenarioTest, IterationsAreLimited) {
  const auto job = [](std::string_view more, std::string_view phase) {
    return Message(
        fmt::format("{}jobs: [{{name: a, hosts: 'host[0-1]', phases: [{}]}}]\n", more, phase));
  };
  EXPECT_THAT(job("duration: 1s\nanalysis_window: 100ms\n", "{collective: ring, size: 1}"),
              HasSubstr("test.yaml:5:8: the job a would run up to 1000000 iterations of 1 us, but "
                        "at most 100000"));
  EXPECT_EQ(job("duration: 1s\n", "{collective: ring, size: 1, compute: 10us}"), "");
  EXPECT_EQ(job("duration: 10ms\n", "{collective: ring, size: 1}"), "");
  EXPECT_THAT(job("model: flow\nduration: 10h\n", "{collective: ring, size: 1M, compute: 1ms}"),
              HasSubstr("at most 5000000"));
  EXPECT_THAT(job("", "{collective: ring, size: 1025G}"),
              HasSubstr("size must be from 1 byte to 1024G"));
}

TEST(LoadScenarioTest, SettingsWithoutEffectAreErrors) {
  const auto job = [](std::string_view keys, std::string_view size = "1M") {
    return fmt::format(
        "jobs: [{{name: a, hosts: 'host[0-1]', {}phases: [{{collective: ring, size: {}}}]}}]\n",
        keys, size);
  };
  const std::string second =
      "- {name: a, hosts: 'host[2-3]', phases: [{collective: ring, size: 1M}]}\n";
  const std::pair<std::string, std::string_view> kCases[] = {
      {job("gpus: 9, "), "gpus must be at most 1, the number of GPUs of host0, found 9"},
      {job("iterations: 0, "), "whole number from 1 to"},
      {job("", "0"), "size must be from 1 byte to 1024G"},
      {job("start: 10ms, "), "the job a starts after the run"},
      {job("restarts: [{at: 10ms, downtime: 1ms}], "), "the job a restarts after the run"},
      {"jobs:\n- {name: a, hosts: 'host[0-1]', phases: [{collective: ring, size: 1M}]}\n" + second,
       "test.yaml:5:3: two jobs have the same name, a"},
      {"faults: [{kind: nic_crash, nic: host0}, {kind: nic_crash, nic: host0, onset: 1ms}]\n",
       "test.yaml:3:41: two faults of kind nic_crash are active at the same place and time"},
      {"maintenance: [{switch: spine0, duration: 2ms}, {switch: spine0, start: 1ms, duration: "
       "1ms}]\n",
       "test.yaml:3:48: two maintenance tasks of the same place overlap"},
  };
  for (const auto& [text, error] : kCases) EXPECT_THAT(Message(text), HasSubstr(error)) << text;
  EXPECT_EQ(Message("faults: [{kind: nic_crash, nic: host0, duration: 1ms}, {kind: nic_crash, nic: "
                    "host0, onset: 1ms}]\n"),
            "");
  EXPECT_EQ(Message("maintenance: [{switch: spine0, duration: 1ms}, {switch: spine0, start: 1ms, "
                    "duration: 1ms}]\n"),
            "");
}

TEST(LoadScenarioTest, LinkSpeedsHaveAMinimum) {
  const auto scenario = LoadScenario(
      "fabric: {generate: {shape: leaf-spine, hosts: 4, leaves: 2, spines: 2, host_speed: 100, "
      "fabric_speed: 100G}}\nduration: 10ms\n",
      "test.yaml");
  ASSERT_FALSE(scenario);
  EXPECT_THAT(scenario.error().message, HasSubstr("a link has a speed of 100 bit/s"));
}

TEST(LoadScenarioTest, SflowKeysHaveLimits) {
  EXPECT_THAT(Message("telemetry: {sflow_counters: 20s}\n"), HasSubstr("needs sflow_rate"));
  EXPECT_THAT(Message("telemetry: {sflow_counters: 10ms}\n"),
              HasSubstr("sflow_counters must be at least 1s"));
  EXPECT_THAT(Message("telemetry: {sflow_spans: {length: 0}}\n"),
              HasSubstr("length must be above 0"));
  EXPECT_THAT(Message("telemetry: {sflow_rate: 9, sflow_spans: {length: 1h}}\n"),
              HasSubstr("length must not be above the scenario's duration"));
  EXPECT_THAT(Message("telemetry: {sflow_spans: {random: -1}}\n"),
              HasSubstr("whole number from 0 to 10000"));
  EXPECT_THAT(Message("telemetry: {sflow_spans: {every: 1s}}\n"), HasSubstr("every"));
}

TEST(LoadScenarioTest, IntervalsMustSuitReplay) {
  EXPECT_THAT(Message("record_interval: 0\n"),
              HasSubstr("record_interval must be between 1ms and 4s"));
  EXPECT_THAT(Message("record_interval: 5s\n"),
              HasSubstr("record_interval must be between 1ms and 4s"));
  EXPECT_THAT(Message("record_interval: 3ms\nanalysis_window: 4ms\n"),
              HasSubstr("must be a multiple of"));
  EXPECT_EQ(Message("record_interval: 2ms\nanalysis_window: 4ms\n"), "");
}

TEST(LoadScenarioTest, FabricErrorIsReportedOnceWithItsPosition) {
  const auto scenario = LoadScenario("name: a\nfabric: {generate: {shape: torus}}\n", "test.yaml");
  ASSERT_FALSE(scenario.has_value());
  EXPECT_THAT(scenario.error().message, ::testing::StartsWith("test.yaml:2:20: no host_speed"));
}

TEST(LoadScenarioTest, SeedArgumentOverridesTheFile) {
  const std::string rest =
      "jobs: [{hosts: 'host[0-3]', phases: [{collective: ring, size: 1M}]}]\n"
      "streams: [{from: host0, to: host1}]\n";
  const auto said = LoadScenario(std::string(kFabric) + "seed: 7\n" + rest, "test.yaml");
  const auto given = LoadScenario(std::string(kFabric) + rest, "test.yaml", 7);
  ASSERT_TRUE(said.has_value() && given.has_value());
  EXPECT_EQ(given->seed, said->seed);
  EXPECT_EQ(given->network.seed, said->network.seed);
  EXPECT_EQ(given->jobs[0].seed, said->jobs[0].seed);
  EXPECT_EQ(given->streams[0].seed, said->streams[0].seed);
}

TEST(LoadScenarioTest, InvalidDurationOrSenderIsAnError) {
  EXPECT_THAT(Message("faults: [{kind: pfc_storm, nic: host0, duration: 0}]\n"),
              HasSubstr("duration must be above 0"));
  EXPECT_THAT(Message("faults: [{kind: incast, nic: host0, senders: 'host[0-1]'}]\n"),
              HasSubstr("must not be one of the senders"));
  EXPECT_THAT(Message("faults: [{kind: incast, nic: host0, senders: 'host1,host2,host1'}]\n"),
              HasSubstr("test.yaml:3:46: incast: a sender is listed twice"));
}

// Checked first: jobs, faults and limits are compared with it.
TEST(LoadScenarioTest, DurationZeroIsAnErrorBeforeAnythingUsesIt) {
  const std::string job = "jobs: [{hosts: 'host[0-3]', phases: [{collective: ring, size: 1M}]}]\n";
  for (const std::string_view model : {"packet", "flow"}) {
    EXPECT_EQ(Message(fmt::format("duration: 0s\nmodel: {}\n{}", model, job)),
              "test.yaml:3:11: duration must be above 0");
  }
}

TEST(LoadScenarioTest, FaultAfterTheEndIsAnError) {
  EXPECT_THAT(Message("duration: 1ms\nfaults: [{kind: pfc_storm, nic: host0, onset: 1ms}]\n"),
              HasSubstr("test.yaml:4:10"));
}

TEST(LoadScenarioTest, RecurringFaultStartsAgainUntilTheEndOfTheRun) {
  const auto scenario = LoadScenario(
      std::string(kFabric) +
          "duration: 10ms\nfaults: [{kind: pfc_storm, nic: host0, onset: 2ms, duration: 1ms, "
          "every: 3ms}, {kind: nic_crash, nic: host1, onset: 4ms}]\n",
      "test.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  std::vector<SimTime> storms;
  for (const FaultOptions& fault : scenario->faults) {
    if (fault.kind != FaultKind::kPfcStorm) continue;
    storms.push_back(fault.onset);
    EXPECT_EQ(fault.duration, kMillisecond);
  }
  EXPECT_THAT(storms, ElementsAre(2 * kMillisecond, 5 * kMillisecond, 8 * kMillisecond));
  EXPECT_THAT(scenario->faults, SizeIs(4));
}

TEST(LoadScenarioTest, RecurringFaultEndsBeforeItStartsAgain) {
  EXPECT_THAT(Message("faults: [{kind: pfc_storm, nic: host0, duration: 2ms, every: 2ms}]\n"),
              HasSubstr("needs a duration that is shorter than every"));
  EXPECT_THAT(Message("faults: [{kind: pfc_storm, nic: host0, every: 2ms}]\n"),
              HasSubstr("needs a duration that is shorter than every"));
  EXPECT_THAT(Message("faults: [{kind: pfc_storm, nic: host0, duration: 1ns, every: 2ns}]\n"),
              HasSubstr("more than 20000 times"));
  EXPECT_THAT(Message("faults: [{kind: nic_crash, nic: host0, duration: 1ms, every: 2ms}, {kind: "
                      "nic_crash, nic: host0, onset: 5ms}]\n"),
              HasSubstr("two faults of kind nic_crash"));
}

TEST(LoadScenarioTest, SwappedCablesNeedTwoPortsAndNoOnset) {
  EXPECT_THAT(Message("faults: [{kind: swapped_cables, link: 'leaf0:Ethernet3', other: "
                      "'leaf1:Ethernet3', onset: 1ms}]\n"),
              HasSubstr("test.yaml:3:10: swapped_cables lasts for the whole run"));
  EXPECT_THAT(Message("faults: [{kind: swapped_cables, link: 'leaf0:Ethernet3'}]\n"),
              HasSubstr("other: NODE:PORT"));
  EXPECT_THAT(Message("faults: [{kind: swapped_cables, link: 'leaf0:Ethernet3', other: "
                      "'leaf0:Ethernet3'}]\n"),
              HasSubstr("they are one"));
}

// With only two leaves, no loop is possible.
TEST(LoadScenarioTest, DeadlockNeedsALoop) {
  EXPECT_THAT(Message("faults: [{kind: pfc_deadlock, link: 'leaf0:Ethernet3'}]\n"),
              HasSubstr("test.yaml:3:10: no loop of pauses can close"));
}

TEST(LoadScenarioTest, NegativeAndInvalidNumbersAreErrors) {
  EXPECT_NE(Message("faults: [{kind: gray_loss, sender: 'leaf0:Ethernet3', probability: -0.1}]\n"),
            "");
  EXPECT_NE(Message("faults: [{kind: slow_receiver, nic: host0, rate: -5G}]\n"), "");
  EXPECT_NE(Message("network: {dcqcn: {alpha_timer: 0}}\n"), "");
  EXPECT_NE(Message("duration: 0\n"), "");
  EXPECT_NE(Message("duration: nan\n"), "");
}

TEST(LoadScenarioTest, FaultWithoutAnyEffectIsAnError) {
  EXPECT_THAT(Message("faults: [{kind: added_latency, link: 'leaf0:Ethernet3'}]\n"),
              HasSubstr("test.yaml:3:10: added_latency: delay must be above 0"));
  EXPECT_THAT(Message("faults: [{kind: degraded_rate, link: 'leaf0:Ethernet3', factor: 1}]\n"),
              HasSubstr("must be below 1"));
  EXPECT_THAT(Message("faults: [{kind: straggler, gpu: 'host0:0', factor: 0.5}]\n"),
              HasSubstr("must be above 1"));
  EXPECT_THAT(Message("network: {spray: true}\nfaults: [{kind: polarisation, switch: leaf0}]\n"),
              HasSubstr("the switches spray packets"));
  EXPECT_EQ(Message("faults: [{kind: straggler, gpu: 'host0:0'}]\n"), "");
}

// Each error states the limit; the value just inside the limit is accepted.
TEST(LoadScenarioTest, FaultWithoutEffectOnThisNetworkIsAnError) {
  const auto fault = [](std::string_view text, std::string_view more = "") {
    return Message(fmt::format("{}faults: [{{kind: {}}}]\n", more, text));
  };
  const std::string_view kFlow = "model: flow\n";
  for (const std::string_view model : {"", "model: flow\n"}) {
    EXPECT_THAT(fault("misconfigured_alpha, switch: leaf0, alpha: 0.125", model),
                HasSubstr(":10: misconfigured_alpha has no effect: alpha must be below that of the "
                          "network, 0.125"));
    EXPECT_NE(fault("misconfigured_alpha, switch: leaf0, alpha: 2", model), "");
    EXPECT_EQ(fault("misconfigured_alpha, switch: leaf0, alpha: 0.1", model), "");
    EXPECT_THAT(
        fault("misconfigured_ecn, switch: leaf0, ecn_minimum: 100000, ecn_maximum: 400000", model),
        HasSubstr("misconfigured_ecn has no effect: the switch marks too late only if"));
    EXPECT_NE(fault("misconfigured_ecn, switch: leaf0, ecn_minimum: 1K, ecn_maximum: 2K", model),
              "");
    EXPECT_EQ(fault("misconfigured_ecn, switch: leaf0, ecn_minimum: 1K", model), "");
    EXPECT_THAT(fault("polarisation, switch: spine0", model),
                HasSubstr("polarisation has no effect: spine0 has no equal-cost links"));
    EXPECT_EQ(fault("polarisation, switch: leaf0", model), "");
    EXPECT_THAT(fault("slow_receiver, nic: host0, rate: 100G", model),
                HasSubstr("rate must be below the speed of the NIC's link, 100G"));
    EXPECT_EQ(fault("slow_receiver, nic: host0, rate: 99G", model), "");
    EXPECT_EQ(fault("blackhole, switch: spine1, nic: host0", model), "");
    EXPECT_EQ(fault("blackhole, switch: leaf0, nic: host0", model), "");
    EXPECT_EQ(fault("blackhole, switch: leaf1, nic: host0", model), "") << "sends to it";
  }
  EXPECT_THAT(fault("mtu_mismatch, switch: leaf0, mtu: 4160"),
              HasSubstr("mtu must be below 4160, the longest IP packet"));
  EXPECT_EQ(fault("mtu_mismatch, switch: leaf0, mtu: 4159"), "");
  EXPECT_THAT(fault("mtu_mismatch, switch: leaf0, mtu: 4140", kFlow), HasSubstr("below 4140"));
  EXPECT_THAT(fault("mtu_mismatch, switch: leaf0", "network: {mtu: 1024}\n"),
              HasSubstr("below 1088"));
  EXPECT_EQ(fault("mtu_mismatch, switch: leaf0, mtu: 1400",
                  "network: {mtu: 1024}\nforeign: [{from: host0, to: host1}]\n"),
            "");
  EXPECT_THAT(fault("gray_loss, link: 'leaf0:Ethernet3', least_length: 4175"),
              HasSubstr("least_length must be at most 4174"));
  EXPECT_EQ(fault("gray_loss, link: 'leaf0:Ethernet3', least_length: 4174"), "");
  EXPECT_NE(fault("bit_errors, link: 'leaf0:Ethernet3', least_length: 4155", kFlow), "");
}

TEST(LoadScenarioTest, BlackholeAwayFromThePathsOfTheNicIsAnError) {
  const auto scenario = LoadScenario(
      "name: test\n"
      "fabric: {generate: {shape: leaf-spine, hosts: 2, leaves: 1, spines: 1, host_speed: 100G, "
      "fabric_speed: 100G}}\n"
      "faults: [{kind: blackhole, switch: spine0, nic: host0}]\n",
      "test.yaml");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().message,
            "test.yaml:3:10: blackhole has no effect: no packet to the NIC passes spine0: use a "
            "switch on its paths");
}

// Limits of run.json, see dataplane/run/README.md.
TEST(LoadScenarioTest, ValuesThatTheRunReaderRejectsAreErrors) {
  EXPECT_THAT(Message("analysis_window: 1500us\n"), HasSubstr("multiple of record_interval"));
  EXPECT_THAT(Message("record_interval: 0\n"), HasSubstr("above 0"));
  EXPECT_THAT(Message("telemetry: {counter_period: 1ns}\n"), HasSubstr("at least 1us"));
  EXPECT_THAT(Message("telemetry: {recording_steps: 7}\n"),
              HasSubstr("test.yaml:3:30: recording_steps: 7 does not divide the analysis window of "
                        "1000000 ns"));
  EXPECT_THAT(Message("telemetry: {recording_steps: 2000}\n"), HasSubstr("at least 1us"));
  EXPECT_THAT(Message("telemetry: {recording_steps: 20}\n"), IsEmpty());
  EXPECT_THAT(Message("telemetry: {clock_error: 2s}\n"),
              HasSubstr("clock_error must be at most 1s"));
  const std::string fabric(kFabric.substr(kFabric.find("fabric:")));
  const auto unnamed = LoadScenario("name: " + std::string(200, 'x') + "\n" + fabric, "test.yaml");
  ASSERT_FALSE(unnamed.has_value());
  EXPECT_THAT(unnamed.error().message, HasSubstr("test.yaml:1:7: a name must have 1 to 128"));
}

TEST(LoadScenarioTest, NicWithoutALinkIsAnError) {
  constexpr std::string_view kUnplugged =
      "name: test\n"
      "fabric:\n"
      "  name: f\n"
      "  defaults: {speed: 100G}\n"
      "  switches: [{name: leaf, tier: leaf, ports: [{name: 'Ethernet[1-2]', number: 1}]}]\n"
      "  hosts:\n"
      "  - {name: 'h[1-3]', nics: [{device: mlx5_0}], gpus: [{number: 0, nic: mlx5_0}]}\n"
      "  links: [['h[1-2]:mlx5_0', 'leaf:Ethernet[1-2]']]\n";
  for (const std::string_view rest :
       {"streams: [{from: h3, to: h1}]\n", "faults: [{kind: nic_crash, nic: h3}]\n",
        "jobs: [{hosts: 'h[1-3]', phases: [{collective: ring, size: 1M}]}]\n"}) {
    const auto scenario = LoadScenario(std::string(kUnplugged) + std::string(rest), "test.yaml");
    ASSERT_FALSE(scenario.has_value()) << rest;
    EXPECT_THAT(scenario.error().message, HasSubstr("has no link"));
  }
}

TEST(LoadScenarioTest, CollectiveThatDoesNotFitItsRanksIsAnError) {
  EXPECT_THAT(Message("jobs: [{hosts: 'host[0-2]', phases: [{collective: halving_doubling, size: "
                      "1M}]}]\n"),
              HasSubstr("power of two"));
  EXPECT_THAT(Message("jobs: [{hosts: host0, phases: [{collective: ring, size: 1M}]}]\n"),
              HasSubstr("at least two ranks"));
}

TEST(LoadScenarioTest, FabricErrorsHaveTheirOwnPositions) {
  const auto scenario = LoadScenario("name: x\nfabric: {generate: {shape: blob}}\n", "test.yaml");
  ASSERT_FALSE(scenario.has_value());
  EXPECT_THAT(scenario.error().message, StartsWith("test.yaml:2:"));
}

TEST(LoadScenarioTest, ReportsAllErrorsAtOnce) {
  const std::string message = Message("seed: x\nduration: y\n");
  EXPECT_THAT(message, HasSubstr("test.yaml:3:7"));
  EXPECT_THAT(message, HasSubstr("test.yaml:4:11"));
}

TEST(UnitsTest, SizesUsePowersOf1024) {
  EXPECT_EQ(ParseSize("512K").value(), 524'288u);
  EXPECT_EQ(ParseSize("1.5M").value(), 1'572'864u);
  EXPECT_EQ(ParseSize("9000").value(), 9'000u);
  for (const std::string_view wrong : {"", "M", "1T", "0.3", "-1", "1e6", "1 K", "9999999G"}) {
    EXPECT_FALSE(ParseSize(wrong).has_value()) << wrong;
  }
}

TEST(UnitsTest, TimesArePicoseconds) {
  EXPECT_EQ(ParseSimTime("1.5us").value(), 1'500'000);
  EXPECT_EQ(ParseSimTime("10ms").value(), 10 * kMillisecond);
  EXPECT_EQ(ParseSimTime("0").value(), 0);
  EXPECT_EQ(ParseSimTime("90min").value(), 5400 * kSecond);
  EXPECT_EQ(ParseSimTime("1.5h").value(), 5400 * kSecond);
  EXPECT_EQ(ParseSimTime("31d").value(), 31 * 86'400 * kSecond);
  for (const std::string_view wrong : {"", "10", "ms", "1m", "-1ms", "32d", "nan"}) {
    EXPECT_FALSE(ParseSimTime(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace rocescope::sim
