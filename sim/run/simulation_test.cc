// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "dataplane/run/counter_line.h"
#include "dataplane/run/manifest.h"
#include "sim/fault/fault_parameter.h"
#include "sim/run/write_truth.h"
#include "topology/yaml.h"

namespace rocescope::sim {
namespace {

using ::testing::HasSubstr;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class SimulationTest : public ::testing::Test {
 protected:
  SimulationTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("rocescope-sim-" + std::to_string(getpid()))) {}
  ~SimulationTest() override { std::filesystem::remove_all(directory_); }

  // Eight hosts with the given fault.
  static Scenario Make(const std::string& fault) {
    const std::string text =
        "name: test\n"
        "duration: 2ms\n"
        "fabric: {generate: {shape: leaf-spine, hosts: 8, leaves: 4, spines: 2, host_speed: 100G, "
        "fabric_speed: 100G}}\n"
        "jobs: [{name: train, hosts: 'host[0-5]', queue_pairs: 2, phases: [{collective: ring, "
        "size: 2M, compute: 50us}]}]\n"
        "streams: [{from: host6, to: host7, load: 0.2, message: 64K}]\n" +
        fault;
    auto scenario = LoadScenario(text, "test.yaml");
    EXPECT_TRUE(scenario.has_value()) << scenario.error().message;
    return *std::move(scenario);
  }

  std::filesystem::path directory_;
};

TEST_F(SimulationTest, NewRunRemovesTheFilesOfAnEarlierRun) {
  const auto run = [&](const std::string& telemetry) {
    const Scenario scenario = Make(telemetry);
    auto simulation = Simulation::Make(scenario, {.directory = directory_.string()});
    ASSERT_TRUE(simulation.has_value()) << simulation.error().message;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "truth.json"));
    ASSERT_TRUE((*simulation)->Run({}).has_value());
  };
  run("telemetry: {mirror: all, int_exponent: 4, sflow_rate: 100, rdma: true}\n");
  std::ofstream(directory_ / "notes.txt") << "mine";
  std::ofstream(directory_ / "nccl" / "notes.txt") << "mine";
  run("telemetry: {mirror: none, counter_period: 0, nccl: none, slurm: false}\n");
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_directory()) files.insert(entry.path().lexically_relative(directory_).string());
  }
  EXPECT_THAT(files, ::testing::ElementsAre("nccl/notes.txt", "notes.txt", "run.json",
                                            "topology.yaml", "truth.json"));
}

TEST_F(SimulationTest, WritesItsRunDirectory) {
  const Scenario scenario =
      Make("telemetry: {mirror: all, int_exponent: 4, sflow_rate: 100, rdma: true}\n");
  auto simulation = Simulation::Make(scenario, {.directory = directory_.string()});
  ASSERT_TRUE(simulation.has_value()) << simulation.error().message;
  ASSERT_TRUE((*simulation)->Run({}).has_value());
  for (const char* file : {"run.json", "topology.yaml", "truth.json", "mirror.pcap", "int.pcap",
                           "sflow.pcap", "counters.jsonl", "slurm.json"}) {
    EXPECT_GT(std::filesystem::file_size(directory_ / file), 0u) << file;
  }
}

TEST_F(SimulationTest, SameSeedGivesTheSameRun) {
  const Scenario scenario = Make("");
  const auto run = [&](const std::string& name) {
    const std::filesystem::path directory = directory_ / name;
    auto simulation = Simulation::Make(scenario, {.directory = directory.string()}).value();
    EXPECT_TRUE(simulation->Run({}).has_value());
    return ReadAll(directory / "mirror.pcap") + ReadAll(directory / "counters.jsonl") +
           ReadAll(directory / "truth.json");
  };
  EXPECT_EQ(run("a"), run("b"));
}

TEST_F(SimulationTest, DirectoryThatCannotBeCreatedIsReported) {
  const Scenario scenario = Make("");
  const auto simulation = Simulation::Make(scenario, {.directory = "/dev/null/run"});
  ASSERT_FALSE(simulation.has_value());
  EXPECT_THAT(simulation.error().message, HasSubstr("/dev/null/run"));
}

// Every frame that a NIC sent reached a queue pair, is in a drop counter, or is in flight, whatever
// the fault.
class ConservationOf : public SimulationTest, public ::testing::WithParamInterface<FaultKind> {
 protected:
  static std::string FaultText(FaultKind kind) {
    const FaultInfo& info = InfoOf(kind);
    constexpr std::string_view kPlaces[] = {"link: 'leaf0:Ethernet3'", "switch: leaf0",
                                            "nic: host0", "gpu: 'host0:0'"};
    if (kind == FaultKind::kSwappedCables) {
      return "faults: [{kind: swapped_cables, link: 'leaf0:Ethernet3', other: "
             "'leaf1:Ethernet4'}]\n";
    }
    std::string text = "faults: [{kind: " + std::string(info.name) + ", " +
                       std::string(kPlaces[static_cast<size_t>(info.place)]) +
                       ", onset: 500us, duration: 1ms";
    const std::map<std::string_view, std::string_view> values = {
        {"probability", "0.05"},
        {"period", "200us"},
        {"rate", "10G"},
        {"delay", "5us"},
        {"nic", "host2"},
        {"senders", "'host[3-7]'"},
        {"factor", kind == FaultKind::kStraggler ? "2" : "0.5"}};
    for (const std::string_view parameter : ParametersOf(kind)) {
      const auto value = values.find(parameter);
      if (value == values.end()) continue;  // its default
      text += ", " + std::string(parameter) + ": " + std::string(value->second);
    }
    return text + "}]\n";
  }
};

TEST_P(ConservationOf, FramesHolds) {
  const Scenario scenario = Make(FaultText(GetParam()));
  auto simulation = Simulation::Make(scenario, {}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());
  Network& network = simulation->network();
  uint64_t sent = 0;
  uint64_t ended = network.shared().frames.out() - network.shared().pauses_out;
  for (topology::NicIndex i = 0; i < network.fabric().nics().size(); ++i) {
    sent += network.nic(i).counters().tx_frames;
    ended += network.nic(i).delivered();
  }
  for (const uint64_t lost : network.shared().lost) ended += lost;
  EXPECT_GT(sent, 1000u);
  EXPECT_EQ(sent, ended);
}

std::vector<FaultKind> AllFaults() {
  std::vector<FaultKind> kinds;
  for (size_t i = 0; i < kFaultKinds; ++i) kinds.push_back(static_cast<FaultKind>(i));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Simulation, ConservationOf, ::testing::ValuesIn(AllFaults()),
                         [](const auto& kind) { return std::string(InfoOf(kind.param).name); });

// 50 ms in the scenario correspond to half a millisecond in the run.
TEST_F(SimulationTest, WatchdogTimesAreScaled) {
  const std::string storm = "faults: [{kind: pfc_storm, nic: host1, onset: 500us}]\n";
  const auto dropped = [](const Scenario& scenario) {
    auto simulation = Simulation::Make(scenario, {}).value();
    EXPECT_TRUE(simulation->Run({}).has_value());
    return simulation->network().shared().lost[static_cast<size_t>(LossCause::kWatchdog)];
  };
  EXPECT_EQ(dropped(Make(storm)), 0u);
  EXPECT_GT(dropped(Make("network: {pfc_watchdog: 50ms}\n" + storm)), 0u);
  EXPECT_EQ(dropped(Make("network: {pfc_watchdog: 200ms}\n" + storm)), 0u);
}

// A straggler computes longer and the others wait for it: it has the highest utilisation and half
// the clock.
TEST_F(SimulationTest, StragglerGpuIsBusyAndSlow) {
  const Scenario scenario = Make(
      "faults: [{kind: straggler, gpu: 'host2:0', factor: 2}]\n"
      "telemetry: {mirror: none, counter_period: 1ms}\n");
  auto simulation = Simulation::Make(scenario, {.directory = directory_.string()}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());
  std::map<std::string, std::map<Metric, uint64_t>> last;  // keyed by host
  std::ifstream file(directory_ / "counters.jsonl");
  for (std::string text; std::getline(file, text);) {
    const CounterLine line = ParseCounterLine(text).value();
    if (line.entity.kind != EntityKind::kGpu) continue;
    for (const auto& [metric, value] : line.metrics) last[line.entity.node][metric] = value;
  }
  ASSERT_EQ(last.size(), 8u);
  for (const char* other : {"host0", "host1", "host3", "host4", "host5"}) {
    EXPECT_GT(last["host2"][Metric::kGpuUtilisation], last[other][Metric::kGpuUtilisation] * 3 / 2);
    EXPECT_EQ(last["host2"][Metric::kGpuClock] * 2, last[other][Metric::kGpuClock]);
    EXPECT_GT(last["host2"][Metric::kTemperature], last[other][Metric::kTemperature]);
  }
  EXPECT_EQ(last["host6"][Metric::kGpuUtilisation], 0u);  // no job uses it
  EXPECT_GT(last["host6"][Metric::kMemoryFree], last["host0"][Metric::kMemoryFree]);
}

TEST_F(SimulationTest, DilatedRunIsTheSameRunOnASlowerFabric) {
  Scenario scenario = Make("faults: []\n");
  auto told = [&](uint32_t dilation) {
    scenario.dilation = dilation;
    auto simulation = Simulation::Make(scenario, {.directory = directory_.string()}).value();
    EXPECT_TRUE(simulation->Run({}).has_value());
    return ParseRunManifest(ReadAll(directory_ / "run.json")).value();
  };
  const RunManifest as_it_was = told(1);
  const std::string mirror = ReadAll(directory_ / "mirror.pcap");
  const RunManifest slower = told(1000);
  EXPECT_EQ(slower.duration, as_it_was.duration * 1000);
  EXPECT_EQ(slower.counter_period, as_it_was.counter_period * 1000);
  EXPECT_EQ(ReadAll(directory_ / "mirror.pcap").size(), mirror.size()) << "the same frames";
  const auto fabric = topology::LoadFabric(ReadAll(directory_ / "topology.yaml"), "").value();
  for (topology::LinkIndex i = 0; i < fabric.links().size(); ++i) {
    EXPECT_EQ(fabric.link(i).bits_per_second * 1000, scenario.fabric->link(i).bits_per_second);
  }
  scenario.dilation = 7;
  EXPECT_THAT(Simulation::Make(scenario, {.directory = directory_.string()}).error().message,
              HasSubstr("--dilate 7: "));
}

TEST_F(SimulationTest, SwappedCablesAppearInTheTruthOnlyAndTrafficArrives) {
  const Scenario scenario =
      Make("faults: [{kind: swapped_cables, link: 'leaf0:Ethernet3', other: 'leaf1:Ethernet3'}]\n");
  auto simulation = Simulation::Make(scenario, {.directory = directory_.string()}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());
  EXPECT_EQ(ReadAll(directory_ / "topology.yaml"), topology::WriteFabric(simulation->fabric()));
  const topology::Fabric& real = simulation->network().fabric();
  EXPECT_NE(topology::WriteFabric(real), topology::WriteFabric(simulation->fabric()));
  const std::string truth = RenderTruth(*simulation);
  EXPECT_THAT(truth, HasSubstr("\"declared_links\": [\n"
                               "    \"leaf0:Ethernet3-spine0:Ethernet1\",\n"
                               "    \"leaf1:Ethernet3-spine0:Ethernet2\""));
  EXPECT_THAT(truth, HasSubstr("\"real_links\": [\n"
                               "    \"leaf0:Ethernet3-spine0:Ethernet2\",\n"
                               "    \"leaf1:Ethernet3-spine0:Ethernet1\""));
  EXPECT_FALSE(simulation->jobs()[0]->iterations().empty());
  EXPECT_NE(simulation->jobs()[0]->iterations()[0].end, kNever);
  for (const uint64_t lost : simulation->network().shared().lost) EXPECT_EQ(lost, 0u);
}

TEST_F(SimulationTest, TruthContainsFaultLocationAndExposedJob) {
  const Scenario scenario = Make(
      "faults: [{kind: gray_loss, sender: 'leaf0:Ethernet3', onset: 500us, probability: "
      "0.2}]\n");
  auto simulation = Simulation::Make(scenario, {}).value();
  ASSERT_TRUE(simulation->Run({}).has_value());
  const std::string truth = RenderTruth(*simulation);
  EXPECT_THAT(truth, HasSubstr("\"kind\": \"gray_loss\""));
  EXPECT_THAT(truth, HasSubstr("\"direction\": \"leaf0:Ethernet3\""));
  EXPECT_THAT(truth, HasSubstr("\"exposed_jobs\": [\n    \"train\""));
  EXPECT_THAT(truth, HasSubstr("\"affected_jobs_unknown\": true"));
}

// Traffic to other destinations through the switch has no loss.
TEST_F(SimulationTest, BlackholeExposesTheSendersToItsDestination) {
  for (const auto& [nic, is_exposed] : {std::pair("host2", true), std::pair("host7", false)}) {
    const Scenario scenario =
        Make("faults: [{kind: blackhole, switch: leaf0, nic: " + std::string(nic) + "}]\n");
    auto simulation = Simulation::Make(scenario, {}).value();
    ASSERT_TRUE(simulation->Run({}).has_value());
    EXPECT_EQ(RenderTruth(*simulation).find("\"exposed_jobs\": []") == std::string::npos,
              is_exposed)
        << nic;
  }
}

}  // namespace
}  // namespace rocescope::sim
