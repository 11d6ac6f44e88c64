// SPDX-License-Identifier: BSD-3-Clause
// Reads a small run of each model with each included profile. For each span between two readings of
// a receiver, the received frames must not exceed those that its peer sent in the shortest span of
// readings that certainly contains it. The bounds of
// the times are those that a collector knows: staleness and clock error.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "sim/flow/flow_counters.h"
#include "sim/flow/flow_model.h"
#include "sim/profile/fake_counters.h"
#include "sim/profile/profile.h"
#include "sim/profile/transform.h"
#include "sim/recording/recorded_counters.h"
#include "sim/recording/recording_identity.h"
#include "sim/run/simulation.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;
using topology::PortIndex;

// Links lose frames silently and with errors, a switch crashes, and a switch and a host reboot.
constexpr const char* kFlowScenario = R"(
name: flow
duration: 1200s
time_scale: 1
record_interval: 1s
analysis_window: 1s
fabric:
  generate: {shape: leaf-spine, hosts: 8, nics: 2, gpus: 2, leaves: 4, spines: 3,
             host_speed: 100G, fabric_speed: 100G, host_delay: 500ns, fabric_delay: 500ns}
jobs:
  - name: train
    hosts: host[0-5]
    phases: [{name: dp, collective: ring, size: 1G, compute: 500ms, groups: rails}]
faults:
  - {kind: gray_loss, sender: "leaf0:Ethernet5", onset: 200s, probability: 0.001}
  - {kind: bit_errors, link: "host2:mlx5_1", onset: 100s, probability: 0.002}
  - {kind: switch_crash, switch: spine1, onset: 400s, duration: 100s}
maintenance:
  - {switch: spine2, start: 600s, drain: 20s, duration: 100s}
  - {host: host7, start: 300s, duration: 60s}
telemetry: {mirror: none, nccl: none, slurm: false}
)";

constexpr const char* kPacketScenario = R"(
name: packets
duration: 12ms
fabric:
  generate: {shape: leaf-spine, hosts: 8, leaves: 4, spines: 2, host_speed: 25G, fabric_speed: 25G}
jobs:
  - {name: train, hosts: "host[0-5]", queue_pairs: 2,
     phases: [{collective: ring, size: 1M, compute: 50us}]}
faults:
  - {kind: gray_loss, sender: "leaf0:Ethernet3", onset: 3ms, probability: 0.02}
  - {kind: bit_errors, sender: "leaf3:Ethernet2", onset: 2ms, probability: 0.02}
  - {kind: switch_crash, switch: spine1, onset: 5200us, duration: 1ms}
maintenance: [{host: host7, start: 3ms, duration: 2ms}]
telemetry: {recording_steps: 20, mirror: none, nccl: none, slurm: false}
)";

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<Profile> IncludedProfiles() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(ROCESCOPE_PROFILES)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Profile> profiles;
  for (const fs::path& file : files) {
    profiles.push_back(LoadProfile(ReadAll(file), file.string()).value());
  }
  return profiles;
}

// A reading of one end of a link.
struct Count {
  Timestamp least;  // the values are certainly not older
  Timestamp most;   // ... and not newer
  uint32_t restarts = 0;
  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t errors = 0;
};

struct End {
  std::map<Timestamp, Count> at;  // by timestamp
  uint64_t sent_mask = UINT64_MAX;
  uint64_t received_mask = UINT64_MAX;
  uint64_t error_mask = UINT64_MAX;
};

class ProfileConservation : public ::testing::Test {
 protected:
  // Reads all link ends of the run with the profile.
  void Read(ExactCounters& exact, const topology::Fabric& fabric, const Profile& profile,
            double scale) {
    ends_.assign(fabric.ports().size(), {});
    std::vector<uint32_t> watched;
    std::vector<PortIndex> ports;
    for (uint32_t i = 0; i < exact.entities().size(); ++i) {
      const CounterEntity& entity = exact.entities()[i].entity;
      if (entity.priority != CounterEntity::kAllPriorities || entity.port.empty()) continue;
      watched.push_back(i);
      ports.push_back(PortOf(fabric, entity));
    }
    KeptReadings sink;
    auto report = Transform(exact, profile, {.scale = scale, .watched = watched}, sink);
    ASSERT_TRUE(report) << report.error().message;
    report_ = *std::move(report);
    for (size_t i = 0; i < watched.size(); ++i) Keep(watched[i], ports[i], report_.watched[i]);
    for (const auto& reading : sink.readings) {
      const CounterEntity& entity = sink.entities[reading.number];
      if (entity.priority != CounterEntity::kAllPriorities || entity.port.empty()) continue;
      Count& count = ends_[PortOf(fabric, entity)].at.at(reading.time);
      const std::vector<Metric>& metrics = sink.metrics_of[reading.number];
      for (size_t i = 0; i < metrics.size(); ++i) {
        if (metrics[i] == Metric::kTxPackets) count.sent = reading.values[i];
        if (metrics[i] == Metric::kRxPackets) count.received = reading.values[i];
        if (metrics[i] == Metric::kFcsErrors) count.errors = reading.values[i];
      }
    }
  }

  // Compares each span of the receiver with the shortest span of the sender that includes it.
  // `in_flight`: greatest number of frames on the wire.
  void Compare(const End& sender, const End& receiver, uint64_t in_flight) {
    std::vector<Count> sent;
    for (const auto& [time, count] : sender.at) sent.push_back(count);
    std::vector<Count> received;
    for (const auto& [time, count] : receiver.at) received.push_back(count);
    const size_t stride = 1 + received.size() / 100;
    for (size_t first = 0; first < received.size(); first += stride) {
      const Count& r0 = received[first];
      const auto older = std::partition_point(sent.begin(), sent.end(),
                                              [&](const Count& s) { return s.most <= r0.least; });
      if (older == sent.begin()) continue;
      const Count& s0 = *(older - 1);
      for (size_t last = first + 1; last < received.size(); ++last) {
        const Count& r1 = received[last];
        const auto newer = std::partition_point(sent.begin(), sent.end(),
                                                [&](const Count& s) { return s.least < r1.most; });
        if (newer == sent.end() || newer->restarts != s0.restarts || r1.restarts != r0.restarts) {
          break;
        }
        const uint64_t frames = (newer->sent - s0.sent) & sender.sent_mask;
        const uint64_t arrived = ((r1.received - r0.received) & receiver.received_mask) +
                                 ((r1.errors - r0.errors) & receiver.error_mask);
        ASSERT_LE(arrived, frames + in_flight)
            << ToNanoseconds(r0.most) << " to " << ToNanoseconds(r1.most);
        ++spans_;
        if (arrived > 1000) tight_ += arrived * 10 > frames * 8;
        if (arrived > 1000) equal_ += arrived == frames;
      }
    }
  }

  // All links in both directions.
  void CompareAll(const topology::Fabric& fabric, bool has_flight) {
    spans_ = tight_ = equal_ = 0;
    for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
      const PortIndex peer = fabric.Peer(port);
      if (peer == topology::kNone) continue;
      SCOPED_TRACE(fabric.NameOf(port) + " to " + fabric.NameOf(peer));
      const topology::Link& link = fabric.link(fabric.port(port).link);
      constexpr double kShortestFrame = 84;  // bytes, with preamble and gap
      const double capacity = static_cast<double>(link.bits_per_second) / 8 *
                              static_cast<double>(link.delay.count()) / 1e9;
      const auto in_flight =
          has_flight ? 2 + static_cast<uint64_t>(capacity / kShortestFrame) : uint64_t{0};
      Compare(ends_[port], ends_[peer], in_flight);
      if (HasFatalFailure()) return;
    }
  }

  uint32_t Restarts() const {
    uint32_t restarts = 0;
    for (const PollerReport& poller : report_.pollers) restarts += poller.restarts;
    return restarts;
  }

  TransformReport report_;
  std::vector<End> ends_;  // by port
  uint64_t spans_ = 0;
  uint64_t tight_ = 0;  // spans in which the receiver counted more than 80 % of the sender's frames
  uint64_t equal_ = 0;

 private:
  static PortIndex PortOf(const topology::Fabric& fabric, const CounterEntity& entity) {
    const topology::NodeIndex node = fabric.FindNode(entity.node);
    if (entity.kind == EntityKind::kPort) return fabric.FindPort(node, entity.port);
    for (const topology::NicIndex nic : fabric.NicsOf(node)) {
      if (fabric.nic(nic).device == entity.port) return fabric.nic(nic).port;
    }
    return topology::kNone;
  }

  void Keep(uint32_t entity, PortIndex port, const std::vector<ReadingTime>& readings) {
    const PollerReport& poller = report_.pollers[report_.poller_of[entity]];
    const auto mask = [&](Metric metric) {
      return poller.wrapping[static_cast<size_t>(metric)] ? UINT32_MAX : UINT64_MAX;
    };
    ends_[port].sent_mask = mask(Metric::kTxPackets);
    ends_[port].received_mask = mask(Metric::kRxPackets);
    ends_[port].error_mask = mask(Metric::kFcsErrors);
    const Duration clock = report_.greatest_clock_error;
    for (const ReadingTime& reading : readings) {
      ends_[port].at[reading.time] = {.least = reading.time - poller.staleness - clock,
                                      .most = reading.time + clock,
                                      .restarts = reading.restarts};
    }
  }
};

TEST_F(ProfileConservation, FlowModel) {
  const auto scenario = LoadScenario(kFlowScenario, "flow.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto model = FlowModel::Make(*scenario);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->Run(nullptr);
  for (const Profile& profile : IncludedProfiles()) {
    SCOPED_TRACE(profile.name);
    FlowCounters exact((*model)->history(), scenario->epoch);
    Read(exact, *scenario->fabric, profile, 1);
    ASSERT_FALSE(HasFatalFailure());
    CompareAll(*scenario->fabric, false);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_GT(spans_, 5'000u);
    EXPECT_GT(tight_, spans_ / 10);
    if (profile.name == "lab") {
      EXPECT_EQ(Restarts(), 0u);
      EXPECT_GT(equal_, tight_ / 2) << "frames are counted at the same moment";
    } else {
      EXPECT_GE(Restarts(), 2u) << "spine1, spine2 and host7";
    }
  }
}

TEST_F(ProfileConservation, PacketModel) {
  const fs::path directory =
      fs::temp_directory_path() / ("rocescope-profile-conservation-" + std::to_string(getpid()));
  const auto scenario = LoadScenario(kPacketScenario, "packets.yaml");
  ASSERT_TRUE(scenario) << scenario.error().message;
  auto simulation = Simulation::Make(*scenario, {.directory = directory.string()});
  ASSERT_TRUE(simulation) << simulation.error().message;
  ASSERT_TRUE((*simulation)->Run({}));
  const topology::Fabric& fabric = (*simulation)->fabric();
  const auto exact = RecordedCounters::Open((directory / kRecordingFile).string(), fabric);
  fs::remove_all(directory);
  ASSERT_TRUE(exact) << exact.error().message;
  for (const Profile& profile : IncludedProfiles()) {
    SCOPED_TRACE(profile.name);
    // One window of 1 ms stands for one polling period.
    const double scale = 1e6 / static_cast<double>(PollPeriod(profile).count());
    Read(**exact, fabric, profile, scale);
    ASSERT_FALSE(HasFatalFailure());
    CompareAll(fabric, true);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_GT(spans_, 300u);
    EXPECT_GT(tight_, 20u);
    if (profile.name == "lab") {
      EXPECT_EQ(Restarts(), 0u);
    } else {
      EXPECT_GE(Restarts(), 1u) << "spine1 and host7";
    }
  }
}

}  // namespace
}  // namespace rocescope::sim
