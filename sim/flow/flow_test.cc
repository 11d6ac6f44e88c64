// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "sim/flow/collective_cost.h"
#include "sim/flow/fair_rates.h"
#include "sim/flow/flow_counters.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

TEST(Series, IsLinearBetweenItsPoints) {
  Series series;
  series.Add(10, 0);
  series.Add(20, 5);
  series.Add(30, 5);
  series.Add(40, 5);  // moves the last point
  series.Add(50, 9);
  EXPECT_EQ(series.points().size(), 4u);
  EXPECT_EQ(series.At(5), 0);
  EXPECT_EQ(series.At(12), 1);
  EXPECT_EQ(series.At(35), 5);
  EXPECT_EQ(series.At(45), 7);
  EXPECT_EQ(series.At(1000), 9);
  size_t hint = 0;
  for (const SimTime time : {45, 12, 49, 11, 30}) EXPECT_EQ(series.At(time, hint), series.At(time));
}

TEST(Series, CanBeCutAtATime) {
  Series series;
  series.Add(10, 0);
  series.Add(20, 4);
  series.Add(40, 8);
  series.CutAt(30);
  EXPECT_EQ(series.At(15), 2);
  EXPECT_EQ(series.At(30), 6);
  EXPECT_EQ(series.At(100), 6);
  series.CutAt(50);
  EXPECT_EQ(series.At(100), 6);
  series.Add(60, 7);
  EXPECT_EQ(series.At(60), 7);
}

// The example of Bertsekas and Gallager, Data Networks, figure 6.17, with unit capacities: one
// session crosses both links, two more share the first link, one has the second to itself.
TEST(FairRates, GivesTheTextbookRates) {
  const std::vector<FairLink> links = {
      {.capacity = 1, .uses = {{0, 1}, {1, 1}, {2, 1}}},
      {.capacity = 1, .uses = {{0, 1}, {3, 1}}},
  };
  const std::vector<double> limits(4, 10);
  std::vector<bool> full;
  const auto rates = FairRates(links, limits, {true, true, true, true}, &full);
  EXPECT_NEAR(rates[0], 1.0 / 3, 1e-9);
  EXPECT_NEAR(rates[1], 1.0 / 3, 1e-9);
  EXPECT_NEAR(rates[2], 1.0 / 3, 1e-9);
  EXPECT_NEAR(rates[3], 2.0 / 3, 1e-9);
  EXPECT_TRUE(full[0]);
  EXPECT_TRUE(full[1]);
}

TEST(FairRates, GivesTheRestToOthersWhenOneIsLimited) {
  const std::vector<FairLink> links = {{.capacity = 10, .uses = {{0, 1}, {1, 2}}}};
  const std::vector<double> limits = {2, 100};
  const auto rates = FairRates(links, limits, {true, true});
  EXPECT_NEAR(rates[0], 2, 1e-9);
  EXPECT_NEAR(rates[1], 4, 1e-9);
  EXPECT_EQ(FairRates(links, limits, {false, true})[0], 0);
  EXPECT_NEAR(FairRates(links, limits, {false, true})[1], 5, 1e-9);
}

// A ring all-reduce of n ranks has 2(n-1) steps of 1/n of the data.
TEST(CollectiveCost, OfARingIsTheSumOfItsSteps) {
  const CollectiveOptions options = {.kind = CollectiveKind::kRing, .ranks = 4, .bytes = 4u << 20};
  const auto plan = MakePlan(options);
  ASSERT_TRUE(plan);
  const CollectiveCost cost(*plan, {},
                            {.same_host = [](uint32_t, uint32_t) { return false; },
                             .latency = 10 * kMicrosecond,
                             .line_rate = 100e9});
  // 1 MiB in two messages of 128 frames: payload, headers of 58 bytes, RETH and immediate once for
  // each message, the ACK of the clear-to-send, and 24 bytes on the wire for each frame.
  const double bytes = (1 << 20) + 256 * 58 + 2 * 20 + 2 * 62 + 258 * 24;
  const double seconds = 6 * (bytes / 12.5e9 + 10e-6) + 10e-6;
  EXPECT_NEAR(static_cast<double>(cost.Duration(12.5e9)) / kSecond, seconds, 1e-8);
  EXPECT_EQ(cost.pairs().size(), 4u);
  EXPECT_NEAR(cost.critical_bytes(), 6 * bytes, 1);
}

Result<Scenario> Load(const std::string& faults, uint32_t nics = 2) {
  return LoadScenario(fmt::format(R"(
name: test
duration: 20ms
fabric:
  generate: {{shape: leaf-spine, hosts: 4, nics: {0}, gpus: {0}, leaves: 2, spines: 2,
             host_speed: 100G, fabric_speed: 100G, host_delay: 500ns, fabric_delay: 500ns}}
jobs:
  - name: train
    hosts: host[0-3]
    phases:
      - {{name: dp, collective: ring, size: 8M, compute: 300us, groups: rails}}
{1}telemetry: {{mirror: none, nccl: none, slurm: false}}
)",
                                  nics, faults),
                      "test.yaml");
}

using Readings = std::map<std::string, std::map<Metric, uint64_t>>;  // by entity

Readings ReadAll(FlowCounters& counters, Timestamp time) {
  Readings readings;
  std::vector<uint64_t> values;
  for (uint32_t i = 0; i < counters.entities().size(); ++i) {
    const ExactCounters::Entity& entity = counters.entities()[i];
    values.resize(entity.metrics.size());
    if (!counters.Read(i, counters.begin(), time, values)) continue;
    std::string name = entity.entity.node + ":" + entity.entity.port;
    if (entity.entity.priority != CounterEntity::kAllPriorities) continue;
    for (size_t k = 0; k < values.size(); ++k) readings[name][entity.metrics[k]] = values[k];
  }
  return readings;
}

// Every link: sent = received + lost; every switch: received = sent, without drops.
TEST(FlowModel, ConservesFramesAtAnyTime) {
  const auto scenario = Load(
      "faults:\n  - {kind: gray_loss, sender: \"host1:mlx5_0\", probability: 0.01, onset: 2ms}\n"
      "  - {kind: bit_errors, link: \"host2:mlx5_1\", probability: 0.005}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->Run(nullptr);
  const topology::Fabric& fabric = *scenario->fabric;
  FlowCounters counters((*model)->history(), scenario->epoch);
  uint64_t missing = 0;
  uint64_t broken = 0;
  for (const int ms : {1, 3, 7, 13, 20}) {
    Readings readings = ReadAll(counters, counters.begin() + std::chrono::milliseconds(ms));
    missing = broken = 0;
    std::map<topology::NodeIndex, int64_t> balance;
    for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
      if (fabric.port(port).link == topology::kNone) continue;
      auto& own = readings.at(fabric.NameOf(port));
      auto& peer = readings.at(fabric.NameOf(fabric.Peer(port)));
      EXPECT_GE(own[Metric::kTxPackets], peer[Metric::kRxPackets]) << fabric.NameOf(port);
      const uint64_t lost = own[Metric::kTxPackets] - peer[Metric::kRxPackets];
      missing += lost;
      broken += peer[Metric::kFcsErrors];
      if (lost == 0) {
        EXPECT_EQ(own[Metric::kTxBytes], peer[Metric::kRxBytes]);
      }
      if (fabric.node(fabric.port(port).node).IsSwitch()) {
        balance[fabric.port(port).node] += static_cast<int64_t>(own[Metric::kRxPackets]) -
                                           static_cast<int64_t>(own[Metric::kTxPackets]);
      }
    }
    for (const auto& [node, frames] : balance) EXPECT_EQ(frames, 0) << fabric.node(node).name;
  }
  EXPECT_EQ(missing, (*model)->lost().at("wire") + (*model)->lost().at("bit_error"));
  EXPECT_EQ(broken, (*model)->lost().at("bit_error"));
  EXPECT_GE((*model)->faults()[0].affected, 10u);
  EXPECT_GT((*model)->faults()[0].visible, 2 * kMillisecond);
}

// A job that stops in an iteration sends and loses nothing any more.
TEST(FlowModel, CountersNeverDecreaseWhenAJobStops) {
  const auto scenario = Load(
      "    restarts: [{at: 3100us, downtime: 1ms}, {at: 9300us, downtime: 1ms}]\n"
      "faults:\n  - {kind: bit_errors, link: \"host2:mlx5_1\", probability: 0.01}\n"
      "  - {kind: gray_loss, sender: \"host1:mlx5_0\", probability: 0.01}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->Run(nullptr);
  FlowCounters counters((*model)->history(), scenario->epoch);
  Readings before;
  for (int us = 0; us <= 20'000; us += 50) {
    Readings now = ReadAll(counters, counters.begin() + std::chrono::microseconds(us));
    for (const auto& [name, metrics] : before) {
      for (const auto& [metric, value] : metrics) {
        if (InfoOf(metric).kind != MetricKind::kCounter) continue;
        ASSERT_GE(now[name][metric], value) << name << " " << InfoOf(metric).name << " " << us;
      }
    }
    before = std::move(now);
  }
}

// The greatest value of a gauge of any port of a node in any priority, in the whole run.
uint64_t GreatestOf(const FlowModel& model, const Scenario& scenario, std::string_view node,
                    Metric metric) {
  FlowCounters counters(model.history(), scenario.epoch);
  uint64_t greatest = 0;
  std::vector<uint64_t> values;
  for (uint32_t i = 0; i < counters.entities().size(); ++i) {
    const ExactCounters::Entity& entity = counters.entities()[i];
    if (entity.entity.node != node) continue;
    values.resize(entity.metrics.size());
    if (!counters.Read(i, counters.begin(), counters.end(), values)) continue;
    for (size_t k = 0; k < values.size(); ++k) {
      if (entity.metrics[k] == metric) greatest = std::max(greatest, values[k]);
    }
  }
  return greatest;
}

// Two hosts send to a third one. With thresholds of 100 kB and 400 kB, the queue is 175 kB long,
// and half of it is in the buffer of each sender's port.
TEST(FlowModel, ASwitchPausesWhoUsesMoreBufferThanAlphaAllows) {
  const auto run = [](const std::string& faults) {
    const auto scenario = Load(
        "streams:\n"
        "  - {from: \"host2:mlx5_0\", to: \"host0:mlx5_0\", load: 0.9}\n"
        "  - {from: \"host3:mlx5_0\", to: \"host0:mlx5_0\", load: 0.9}\n" +
        faults);
    EXPECT_TRUE(scenario) << scenario.error().message;
    auto model = FlowModel::Make(*scenario);
    (*model)->Run(nullptr);
    uint64_t bytes = 0;
    uint64_t pauses = 0;
    for (const char* node : {"leaf0", "leaf1", "spine0", "spine1"}) {
      bytes = std::max(bytes, GreatestOf(**model, *scenario, node, Metric::kBufferWatermark));
      pauses = std::max(pauses, GreatestOf(**model, *scenario, node, Metric::kPfcTx));
    }
    return std::pair(bytes, pauses);
  };
  const auto [healthy, pauses] = run("");
  EXPECT_GE(healthy, 87'500u);
  EXPECT_EQ(pauses, 0u);
  const std::string fault = "misconfigured_alpha, alpha: 0.0005, switch: ";
  EXPECT_GT(run("faults:\n  - {kind: " + fault + "leaf0}\n  - {kind: " + fault + "leaf1}\n").second,
            0u);
}

TEST(FlowModel, HealthyLinksBreakFramesAtTheirBitErrorRatio) {
  const auto scenario = Load("benign: {bit_error_ratio: [1e-9, 1e-9]}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->Run(nullptr);
  FlowCounters counters((*model)->history(), scenario->epoch);
  double expected = 0;
  uint64_t broken = 0;
  for (auto& [name, metrics] : ReadAll(counters, counters.end())) {
    expected += static_cast<double>(metrics[Metric::kTxBytes]) * 8 * 1e-9;
    broken += metrics[Metric::kFcsErrors];
  }
  EXPECT_GT(expected, 5);
  EXPECT_NEAR(static_cast<double>(broken), expected, 4 * std::sqrt(expected));
}

TEST(FlowModel, IsDeterministic) {
  const auto scenario =
      Load("faults:\n  - {kind: bit_errors, link: \"host2:mlx5_1\", probability: 0.005}\n");
  ASSERT_TRUE(scenario);
  Readings first;
  for (int run = 0; run < 2; ++run) {
    auto model = FlowModel::Make(*scenario);
    ASSERT_TRUE(model);
    (*model)->Run(nullptr);
    FlowCounters counters((*model)->history(), scenario->epoch);
    const Readings readings = ReadAll(counters, counters.end());
    if (run == 0) first = readings;
    EXPECT_EQ(readings, first);
  }
}

TEST(FlowModel, AStragglerSlowsTheJob) {
  const auto mean = [](const std::string& faults) {
    const auto scenario = Load(faults, 1);  // one ring, which has the links to itself
    auto model = FlowModel::Make(*scenario);
    (*model)->Run(nullptr);
    const auto& done = (*model)->jobs()[0].iterations;
    return static_cast<double>(done[5].end - done[1].end) / 4 / kMicrosecond;
  };
  const double healthy = mean("");
  const double slow = mean("faults:\n  - {kind: straggler, gpu: \"host1:0\", factor: 2}\n");
  EXPECT_NEAR(slow - healthy, 300, 30);  // its computation takes 300 us longer
}

TEST(FlowModel, AJobFailsWhenItsNicIsDownForLong) {
  const auto scenario = Load("faults:\n  - {kind: nic_crash, nic: \"host1:mlx5_0\", onset: 3ms}\n");
  ASSERT_TRUE(scenario);
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model);
  (*model)->Run(nullptr);
  // Eight timeouts of 0.67 ms (67 ms, scaled by 0.01).
  const SimTime failed = (*model)->jobs()[0].failed;
  EXPECT_GE(failed, 3 * kMillisecond + 8 * 670 * kMicrosecond);
  EXPECT_LE(failed, 3 * kMillisecond + 10 * 670 * kMicrosecond + kMillisecond);
}

// Returns whether a switch answers at the end of the run.
bool Answers(const FlowModel& model, const Scenario& scenario, const std::string& node) {
  FlowCounters counters(model.history(), scenario.epoch);
  std::vector<uint64_t> values;
  for (uint32_t i = 0; i < counters.entities().size(); ++i) {
    if (counters.entities()[i].entity.node != node) continue;
    values.resize(counters.entities()[i].metrics.size());
    return counters.Read(i, counters.begin(), counters.end(), values);
  }
  return false;
}

TEST(FlowModel, ACrashedSwitchDoesNotAnswerUntilTheEnd) {
  const auto scenario = Load("faults:\n  - {kind: switch_crash, switch: spine0, onset: 5ms}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model);
  (*model)->Run(nullptr);
  EXPECT_FALSE(Answers(**model, *scenario, "spine0"));
  EXPECT_TRUE(Answers(**model, *scenario, "spine1"));
}

// link_down lasts longer than the flap of the same link, whose end must not bring the link up.
TEST(FlowModel, TheEndOfOneFaultDoesNotRepairAnother) {
  const auto scenario = Load(
      "faults:\n  - {kind: link_down, link: \"leaf0:Ethernet5\", onset: 2ms}\n"
      "  - {kind: flap, link: \"leaf0:Ethernet5\", onset: 3ms, duration: 4ms, period: 1ms}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model);
  (*model)->Run(nullptr);
  FlowCounters counters((*model)->history(), scenario->epoch);
  Readings readings = ReadAll(counters, counters.end());
  EXPECT_EQ(readings.at("leaf0:Ethernet5")[Metric::kLinkUp], 0u);
  EXPECT_EQ(readings.at("leaf0:Ethernet5")[Metric::kLinkFlaps], 1u);  // it was down all the time
}

// The second fault of each case would otherwise count as visible although it changes nothing.
TEST(FlowModel, AFaultWhosePlaceIsDownIsNotVisible) {
  const auto visible = [](const std::string& rest) {
    const auto scenario = Load(rest);
    EXPECT_TRUE(scenario) << scenario.error().message;
    auto model = FlowModel::Make(*scenario);
    EXPECT_TRUE(model);
    (*model)->Run(nullptr);
    return (*model)->TakeOutcome().faults.back().visible;
  };
  const std::string crash = "faults:\n  - {kind: nic_crash, nic: \"host0:mlx5_0\", onset: 2ms";
  for (const std::string second : {"pfc_storm, nic: \"host0:mlx5_0\"",
                                   "noisy_neighbour, nic: \"host0:mlx5_0\", senders: "
                                   "\"host1:mlx5_0\""}) {
    const std::string fault = "  - {kind: " + second + ", onset: 4ms}\n";
    EXPECT_EQ(visible(crash + "}\n" + fault), kNever) << second;
    EXPECT_EQ(visible(crash + ", duration: 5ms}\n" + fault), 7 * kMillisecond) << second;
    EXPECT_EQ(visible("faults:\n" + fault), 4 * kMillisecond) << second;
  }
  const std::string upgrade =
      "maintenance:\n  - {switch: leaf0, start: 1ms, duration: 10ms}\nfaults:\n";
  EXPECT_EQ(
      visible(upgrade + "  - {kind: switch_crash, switch: leaf0, onset: 2ms, duration: 3ms}\n"),
      kNever);
  EXPECT_EQ(visible(upgrade + "  - {kind: polarisation, switch: leaf0, onset: 2ms}\n"),
            11 * kMillisecond);
}

// Each path record is disjoint from the others of its queue pair, and together they contain all
// iterations.
TEST(FlowModel, PathsContainAllBytesOnce) {
  const auto scenario = Load(
      "faults:\n  - {kind: link_down, link: \"leaf0:Ethernet5\", onset: 5ms, duration: 3ms}\n"
      "  - {kind: degraded_rate, link: \"leaf0:Ethernet6\", onset: 12ms, factor: 0.5}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model);
  (*model)->Run(nullptr);
  const auto& iterations = (*model)->jobs()[0].iterations;
  const auto done = static_cast<double>(
      std::ranges::count_if(iterations, [](const auto& one) { return one.end != kNever; }));
  // A ring of four ranks sends 2 * 3 quarters of 8 MiB between neighbours in each iteration.
  const double payload = 6 * 2.0 * (1 << 20);
  size_t seen = 0;
  for (const auto& records : (*model)->paths()) {
    double bytes = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      bytes += records[i].bytes;
      EXPECT_TRUE(i == 0 || records[i].start >= records[i - 1].end);
    }
    if (bytes < payload) continue;  // the receivers' clear-to-sends
    ++seen;
    EXPECT_GE(bytes, done * payload);
    EXPECT_LE(bytes, (done + 2.5) * payload * 1.02);
  }
  EXPECT_GT(seen, 0u);
}

TEST(FlowModel, RefusesWhatNeedsPackets) {
  const auto scenario = Load("faults:\n  - {kind: deprioritised_cnps, switch: leaf0}\n");
  ASSERT_TRUE(scenario) << scenario.error().message;
  const auto model = FlowModel::Make(*scenario);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("packet model"), std::string::npos);
}

}  // namespace
}  // namespace rocescope::sim
