// SPDX-License-Identifier: BSD-3-Clause
// Runs every scenario of the library with all telemetry enabled. All frames that NICs sent are
// delivered, lost for a known cause, or in flight, and mirrors, INT, sFlow and counters agree on
// the frames. All expected values are sums, independent of the code under test.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>

#include "rocescope/v1/truth.pb.h"
#include "sim/run/simulation.h"
#include "sim/run/telemetry.h"
#include "sim/scenario/scenario.h"
#include "tests/sim/run_files.h"

namespace rocescope::sim {
namespace {

using test::FrameSums;
using test::PortCounts;
using test::RunFiles;
using topology::PortIndex;

constexpr uint64_t kNoCollectorLoses = 100'000'000'000'000;  // bit/s
constexpr uint64_t kFcs = 4;  // bytes; sFlow counts them and counters.jsonl does not
constexpr SimTime kBehindOnset = 3 * kMillisecond;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Scenario Load(const std::filesystem::path& path) {
  auto scenario = LoadScenario(ReadAll(path), path.string());
  EXPECT_TRUE(scenario.has_value()) << scenario.error().message;
  return *std::move(scenario);
}

// All telemetry of a fabric, with frames truncated after their headers.
void TurnEverythingOn(TelemetryOptions& telemetry) {
  telemetry.mirrors = {MirrorPlan::kAll, MirrorPlan::kPortSets};
  telemetry.snap_length = 64;
  telemetry.collector_rate = kNoCollectorLoses;
  telemetry.int_exponent = 0;
  telemetry.sflow_rate = 16;
  telemetry.counter_period = kMillisecond;
}

// The end is some time after the last fault starts, at a whole number of milliseconds, so that
// counters are read at the end.
SimTime ShortEnough(const Scenario& scenario) {
  SimTime onset = 0;
  for (const FaultOptions& fault : scenario.faults) onset = std::max(onset, fault.onset);
  const SimTime end = (onset + kBehindOnset) / kMillisecond * kMillisecond;
  return std::min(end, scenario.duration / kMillisecond * kMillisecond);
}

class Conservation : public ::testing::Test {
 protected:
  Conservation()
      : directory_(std::filesystem::temp_directory_path() /
                   ("rocescope-conservation-" + std::to_string(getpid()))) {}
  ~Conservation() override { std::filesystem::remove_all(directory_); }

  void Simulate(const Scenario& scenario) {
    simulation_.reset();
    auto made = Simulation::Make(scenario, {.directory = directory_.string()});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    simulation_ = *std::move(made);
    ASSERT_TRUE(simulation_->Run({}).has_value());
  }
  bool EveryFaultShowed() const {
    for (const Injector::Happened& fault : simulation_->injector().happened()) {
      if (fault.visible == kNever) return false;
    }
    return true;
  }
  void ReadFiles() {
    truth_.Clear();
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(ReadAll(directory_ / "truth.json"), &truth_)
            .ok());
    files_ = std::make_unique<RunFiles>(simulation_->fabric());
    files_->ReadMirror(directory_ / "mirror.pcap");
    files_->ReadInt(directory_ / "int.pcap");
    files_->ReadSflow(directory_ / "sflow.pcap");
    files_->ReadCounters(directory_ / "counters.jsonl");
    ASSERT_EQ(files_->strange, 0u);
    ASSERT_EQ(files_->counters_read_ns, truth_.end_ns()) << "counters were not read at the end";
    AskThoseWhoAreGone();
  }
  // A NIC that is removed reports no more counters, so its later counts are taken from the NIC
  // itself.
  void AskThoseWhoAreGone() {
    for (topology::NicIndex index = 0; index < fabric().nics().size(); ++index) {
      Nic& nic = simulation_->network().nic(index);
      if (nic.is_up()) continue;
      const auto set = [&](Metric metric, uint64_t value) {
        files_->counters[fabric().nic(index).port].last[static_cast<size_t>(metric)] = value;
      };
      set(Metric::kRxPackets, nic.port().counters().rx_frames);
      set(Metric::kRxBytes, nic.port().counters().rx_bytes);
      set(Metric::kTxPackets, nic.port().counters().tx_frames);
      set(Metric::kTxBytes, nic.port().counters().tx_bytes);
      set(Metric::kFcsErrors, nic.port().counters().fcs_errors);
      set(Metric::kRxDiscards, nic.counters().rx_discards);
      set(Metric::kIcrcErrors, nic.counters().rx_icrc_encapsulated);
      set(Metric::kEcnMarkedRoce, nic.counters().np_ecn_marked_roce_packets);
    }
  }

  const topology::Fabric& fabric() const { return simulation_->real_fabric(); }
  const PortCounts& Counts(PortIndex port) const { return files_->counters[port]; }
  uint64_t InFlight() const { return truth_.frames().in_flight(); }
  uint64_t Lost(const std::string& cause) const {
    for (const auto& loss : truth_.frames().lost()) {
      if (loss.cause() == cause) return loss.frames();
    }
    return 0;
  }
  template <typename Visit>
  void ForEachSwitch(const Visit& visit) {
    for (topology::NodeIndex node = 0; node < fabric().nodes().size(); ++node) {
      if (fabric().node(node).IsSwitch()) visit(node);
    }
  }
  template <typename Value>
  uint64_t SumOver(topology::NodeIndex node, const Value& value) const {
    const topology::Node& at = fabric().node(node);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < at.port_count; ++i) sum += value(at.first_port + i);
    return sum;
  }
  uint64_t CountOver(topology::NodeIndex node, Metric metric) const {
    return SumOver(node, [&](PortIndex port) { return Counts(port)[metric]; });
  }
  uint64_t CountOverSwitches(Metric metric) {
    uint64_t sum = 0;
    ForEachSwitch([&](topology::NodeIndex node) { sum += CountOver(node, metric); });
    return sum;
  }
  // Silent drops by a switch.
  uint64_t LostInSilence(topology::NodeIndex node) const {
    const Switch& at = simulation_->network().switch_at(node);
    return at.lost(LossCause::kBlackhole) + at.lost(LossCause::kSelective) +
           at.lost(LossCause::kDeviceDown);
  }

  void TruthAddsUp();
  void CausesAreThoseThatCountersTell();
  void SwitchesForwardLoseOrHoldWhatTheyReceive();
  void LinksDeliverOrLoseWhatIsSentInto();
  void MirrorsShowWhatPortsCounted();
  void PortSetsShowWhatTheirPortsCounted();
  void PostcardsTellOfWhatWasForwarded();
  void SamplesAreTheShareAskedFor();
  void MarksAreCountedWhereTheyAreMade();
  void QueuesWereAsLongAsCountersSaw();

  const std::filesystem::path directory_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<RunFiles> files_;
  v1::Truth truth_;
};

void Conservation::TruthAddsUp() {
  const v1::TruthFrames& frames = truth_.frames();
  uint64_t lost = 0;
  for (const auto& loss : frames.lost()) lost += loss.frames();
  EXPECT_GT(frames.sent(), 0u);
  EXPECT_EQ(frames.sent(), frames.delivered() + lost + frames.in_flight());
}

void Conservation::CausesAreThoseThatCountersTell() {
  uint64_t nics_full = 0;
  uint64_t bad_fcs = CountOverSwitches(Metric::kFcsErrors);
  uint64_t bad_icrc = 0;
  for (const topology::Nic& nic : fabric().nics()) {
    nics_full += Counts(nic.port)[Metric::kRxDiscards];
    bad_fcs += Counts(nic.port)[Metric::kFcsErrors];
    bad_icrc += Counts(nic.port)[Metric::kIcrcErrors];
  }
  EXPECT_EQ(CountOverSwitches(Metric::kQueueDrops), CountOverSwitches(Metric::kRxDiscards));
  EXPECT_EQ(Lost("buffer_full"), CountOverSwitches(Metric::kRxDiscards) + nics_full);
  EXPECT_EQ(Lost("no_route"), CountOverSwitches(Metric::kNoRouteDrops));
  EXPECT_EQ(Lost("ttl"), CountOverSwitches(Metric::kTtlDrops));
  EXPECT_EQ(Lost("too_long"), CountOverSwitches(Metric::kMtuDrops));
  EXPECT_EQ(Lost("bit_error"), bad_fcs);
  EXPECT_EQ(Lost("bad_icrc"), bad_icrc);
  EXPECT_GE(Lost("link_down") + Lost("watchdog"), CountOverSwitches(Metric::kTxDiscards));
}

void Conservation::SwitchesForwardLoseOrHoldWhatTheyReceive() {
  ForEachSwitch([&](topology::NodeIndex node) {
    SCOPED_TRACE(fabric().node(node).name);
    const uint64_t lost =
        CountOver(node, Metric::kRxDiscards) + CountOver(node, Metric::kTxDiscards) +
        CountOver(node, Metric::kTtlDrops) + CountOver(node, Metric::kNoRouteDrops) +
        CountOver(node, Metric::kMtuDrops) + LostInSilence(node);
    const uint64_t received = CountOver(node, Metric::kRxPackets);
    const uint64_t ended = CountOver(node, Metric::kTxPackets) + lost;
    const uint64_t queue = CountOver(node, Metric::kQueueBytes);
    ASSERT_GE(received, ended);
    EXPECT_EQ(received == ended, queue == 0) << received - ended << " frames, " << queue;
    if (lost == 0) {
      EXPECT_EQ(CountOver(node, Metric::kRxBytes), CountOver(node, Metric::kTxBytes) + queue);
    }
  });
}

void Conservation::LinksDeliverOrLoseWhatIsSentInto() {
  uint64_t vanished = 0;
  uint64_t discarded = 0;
  for (PortIndex port = 0; port < fabric().ports().size(); ++port) {
    const PortIndex peer = fabric().Peer(port);
    discarded += simulation_->network().port(port).counters().discarded;
    if (peer == topology::kNone) continue;
    SCOPED_TRACE(fabric().NameOf(port) + " to " + fabric().NameOf(peer));
    const uint64_t sent = Counts(port)[Metric::kTxPackets];
    const uint64_t arrived = Counts(peer)[Metric::kRxPackets] + Counts(peer)[Metric::kFcsErrors];
    ASSERT_GE(sent, arrived);
    vanished += sent - arrived;
    EXPECT_GE(Counts(port)[Metric::kTxBytes], Counts(peer)[Metric::kRxBytes]);
    if (sent == Counts(peer)[Metric::kRxPackets]) {
      EXPECT_EQ(Counts(port)[Metric::kTxBytes], Counts(peer)[Metric::kRxBytes]);
    }
    EXPECT_GE(Counts(port)[Metric::kPfcTx], Counts(peer)[Metric::kPfcRx]);
    for (const v1::TruthFault& fault : truth_.faults()) {
      if (fault.kind() != "gray_loss" || fault.direction() != fabric().NameOf(port)) continue;
      EXPECT_GE(sent - arrived, fault.affected_frames());
      EXPECT_LE(sent - arrived, Lost("wire") + InFlight());
    }
  }
  // Frames that the ground truth has in flight are on a wire, or in a queue of a switch or NIC.
  const uint64_t lost = Lost("wire") + Lost("link_down") + Lost("watchdog") - discarded;
  EXPECT_GE(vanished, lost);
  EXPECT_LE(vanished, lost + InFlight());
}

void Conservation::MirrorsShowWhatPortsCounted() {
  ForEachSwitch([&](topology::NodeIndex node) {
    SumOver(node, [&](PortIndex port) {
      const FrameSums& seen = files_->mirrored[port];
      EXPECT_EQ(seen.frames, Counts(port)[Metric::kRxPackets]) << fabric().NameOf(port);
      EXPECT_EQ(seen.bytes, Counts(port)[Metric::kRxBytes]) << fabric().NameOf(port);
      return 0;
    });
  });
  for (const auto& [session, mirror] : files_->sessions) {
    EXPECT_EQ(mirror.sequence.Gaps() + mirror.sequence.backwards, 0u);
  }
}

void Conservation::PortSetsShowWhatTheirPortsCounted() {
  for (const topology::Tap& tap : simulation_->fabric().taps()) {
    FrameSums counted;
    for (const PortIndex port : tap.ports) {
      counted.frames += Counts(port)[Metric::kRxPackets];
      counted.bytes += Counts(port)[Metric::kRxBytes];
    }
    const test::MirrorSums& mirror = files_->sessions[{tap.node, tap.session}];
    SCOPED_TRACE(fabric().node(tap.node).name + " session " + std::to_string(tap.session));
    EXPECT_EQ(mirror.sequence.next, counted.frames);
    EXPECT_EQ(mirror.sums.frames, counted.frames);
    EXPECT_EQ(mirror.sums.bytes, counted.bytes);
  }
}

void Conservation::PostcardsTellOfWhatWasForwarded() {
  ForEachSwitch([&](topology::NodeIndex node) {
    SCOPED_TRACE(fabric().node(node).name);
    const test::Sequence& postcards = files_->postcards[node];
    EXPECT_EQ(postcards.next, CountOver(node, Metric::kTxPackets));
    EXPECT_EQ(postcards.Gaps() + postcards.backwards, 0u);
    SumOver(node, [&](PortIndex port) {
      EXPECT_EQ(files_->reported[port].frames, Counts(port)[Metric::kTxPackets]);
      EXPECT_EQ(files_->reported[port].bytes, Counts(port)[Metric::kTxBytes]);
      EXPECT_LE(files_->reported_in[port], Counts(port)[Metric::kRxPackets]);
      return 0;
    });
  });
}

// Skipping 1 to 2N-1 frames between samples (N on average) has a lower variance than sampling each
// frame with probability 1 in N.
void Conservation::SamplesAreTheShareAskedFor() {
  const uint64_t rate = simulation_->scenario().telemetry.sflow_rate;
  ForEachSwitch([&](topology::NodeIndex node) {
    const Switch& at = simulation_->network().switch_at(node);
    // These records end before a frame's path is known. A frame in the pool may still be dropped
    // for a full buffer.
    const uint64_t early = LostInSilence(node) + at.lost(LossCause::kTtlExpired) +
                           at.lost(LossCause::kNoRoute) + at.lost(LossCause::kTooLong);
    uint64_t discards = 0;
    SumOver(node, [&](PortIndex port) {
      SCOPED_TRACE(fabric().NameOf(port));
      const test::SampleSums& sampled = files_->samples[port];
      const uint64_t received = Counts(port)[Metric::kRxPackets];
      EXPECT_LE(sampled.pool, received);
      EXPECT_GE(sampled.pool + early + 2 * rate - 1, received);
      EXPECT_EQ(sampled.samples.Gaps() + sampled.samples.backwards, 0u);
      EXPECT_EQ(sampled.discards.Gaps() + sampled.discards.backwards, 0u);
      const double one_in = 1 / static_cast<double>(rate);
      const double mean = static_cast<double>(received) * one_in;
      const double sigma = std::sqrt(mean * (1 - one_in));
      const auto samples = static_cast<double>(sampled.samples.arrived);
      EXPECT_LE(samples, mean + 5 * sigma + 1);
      EXPECT_GE(samples, mean - static_cast<double>(early) * one_in - 5 * sigma - 1);
      EXPECT_GE(sampled.readings, 2u);
      EXPECT_LE(sampled.received, received);
      EXPECT_LE(sampled.received_bytes, Counts(port)[Metric::kRxBytes] + kFcs * received);
      EXPECT_EQ(sampled.received == received,
                sampled.received_bytes == Counts(port)[Metric::kRxBytes] + kFcs * received);
      discards += sampled.discards.arrived;
      return 0;
    });
    EXPECT_LE(discards, CountOver(node, Metric::kRxDiscards) + CountOver(node, Metric::kTtlDrops) +
                            CountOver(node, Metric::kNoRouteDrops) +
                            CountOver(node, Metric::kMtuDrops));
  });
}

// Mirror copies are taken before a switch sets CE marks, INT postcards after it.
void Conservation::MarksAreCountedWhereTheyAreMade() {
  ForEachSwitch([&](topology::NodeIndex node) {
    SCOPED_TRACE(fabric().node(node).name);
    const uint64_t came =
        SumOver(node, [&](PortIndex port) { return files_->mirrored[port].ce_marked; });
    const uint64_t left =
        SumOver(node, [&](PortIndex port) { return files_->reported[port].ce_marked; });
    const uint64_t marked = CountOver(node, Metric::kEcnMarked);
    const uint64_t stayed =
        CountOver(node, Metric::kRxPackets) - CountOver(node, Metric::kTxPackets);
    EXPECT_GE(came + marked, left);
    EXPECT_LE(came + marked, left + stayed);
  });
  for (PortIndex port = 0; port < fabric().ports().size(); ++port) {
    const PortIndex peer = fabric().Peer(port);
    if (peer == topology::kNone || !fabric().node(fabric().port(port).node).IsSwitch()) continue;
    SCOPED_TRACE(fabric().NameOf(port) + " to " + fabric().NameOf(peer));
    const uint64_t left = files_->reported[port].ce_marked;
    const topology::NicIndex nic = fabric().NicOf(peer);
    const uint64_t came = nic == topology::kNone ? files_->mirrored[peer].ce_marked
                                                 : Counts(peer)[Metric::kEcnMarkedRoce];
    const uint64_t arrived = nic == topology::kNone ? Counts(peer)[Metric::kRxPackets]
                                                    : simulation_->network().nic(nic).delivered();
    EXPECT_GE(left, came);
    EXPECT_LE(left, came + Counts(port)[Metric::kTxPackets] - arrived);
  }
}

void Conservation::QueuesWereAsLongAsCountersSaw() {
  for (const v1::TruthQueue& queue : truth_.congested()) {
    const size_t colon = queue.port().find(':');
    const topology::NodeIndex node = fabric().FindNode(queue.port().substr(0, colon));
    ASSERT_NE(node, topology::kNone);
    const PortIndex port = fabric().FindPort(node, queue.port().substr(colon + 1));
    ASSERT_NE(port, topology::kNone);
    EXPECT_LE(queue.peak_bytes(),
              Counts(port).highest[static_cast<size_t>(Metric::kQueueWatermark)])
        << queue.port();
  }
}

class ConservationIn : public Conservation,
                       public ::testing::WithParamInterface<std::filesystem::path> {};

TEST_P(ConservationIn, AllThatTellsOfFramesAgreesWithTheTruth) {
  Scenario scenario = Load(GetParam());
  TurnEverythingOn(scenario.telemetry);
  const SimTime whole = scenario.duration;
  scenario.duration = ShortEnough(scenario);
  Simulate(scenario);
  if (!HasFatalFailure() && !EveryFaultShowed() && scenario.duration < whole) {
    scenario.duration = whole;
    Simulate(scenario);
  }
  if (HasFatalFailure()) return;
  EXPECT_TRUE(EveryFaultShowed());
  ReadFiles();
  if (HasFatalFailure()) return;
  TruthAddsUp();
  CausesAreThoseThatCountersTell();
  SwitchesForwardLoseOrHoldWhatTheyReceive();
  LinksDeliverOrLoseWhatIsSentInto();
  MirrorsShowWhatPortsCounted();
  PortSetsShowWhatTheirPortsCounted();
  PostcardsTellOfWhatWasForwarded();
  SamplesAreTheShareAskedFor();
  MarksAreCountedWhereTheyAreMade();
  QueuesWereAsLongAsCountersSaw();
}

std::vector<std::filesystem::path> Library() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ROCESCOPE_SCENARIOS)) {
    // The packet model would need weeks for a scenario of the flow model.
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (entry.path().extension() == ".yaml" && text.find("\nmodel: flow\n") == std::string::npos) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(
    Library, ConservationIn, ::testing::ValuesIn(Library()), [](const auto& file) {
      std::string name = file.param.stem().string();
      std::replace_if(
          name.begin(), name.end(),
          [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

// Frames that are not RoCE, maintenance, errors without a fault and a job that restarts. INT
// reports only RoCE, and harmless discards are frames of no NIC, so they are left out.
TEST_F(Conservation, BenignEventsLoseNoFrameUnaccounted) {
  constexpr std::string_view kText =
      "name: benign\n"
      "duration: 6ms\n"
      "fabric: {generate: {shape: leaf-spine, hosts: 16, leaves: 4, spines: 4, host_speed: 100G, "
      "fabric_speed: 100G}}\n"
      "network: {lossy_alpha: 0.005}\n"
      "jobs:\n"
      "- hosts: 'host[0-11]'\n"
      "  phases: [{collective: ring, size: 2M, compute: 50us}]\n"
      "  checkpoint: {every: 4, size: 256K, to: host12}\n"
      "  restarts: [{at: 3ms, downtime: 500us}]\n"
      "benign:\n"
      "  frame_errors: {ports: 0.3, frames: 2}\n"
      "  microbursts: {period: 1ms, senders: 15, frames: 8}\n"
      "maintenance:\n"
      "- {link: 'leaf0:Ethernet5', start: 1ms, drain: 100us, duration: 1ms}\n"
      "- {switch: spine3, start: 4ms, drain: 100us, duration: 1ms}\n"
      "- {host: host15, start: 1ms, duration: 2ms}\n"
      "foreign: [{from: host13, to: host1, load: 0.1}, {from: host2, to: host14, load: 0.05}]\n";
  auto scenario = LoadScenario(kText, "benign.yaml");
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
  TurnEverythingOn(scenario->telemetry);
  Simulate(*scenario);
  ASSERT_FALSE(HasFatalFailure());
  ReadFiles();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_GT(Lost("bit_error"), 0u);
  EXPECT_GT(Lost("buffer_full"), 0u);
  TruthAddsUp();
  CausesAreThoseThatCountersTell();
  SwitchesForwardLoseOrHoldWhatTheyReceive();
  LinksDeliverOrLoseWhatIsSentInto();
  MirrorsShowWhatPortsCounted();
  PortSetsShowWhatTheirPortsCounted();
  SamplesAreTheShareAskedFor();
}

// The mirror path to the appliance cannot carry all copies. Lost copies are gaps in the mirror
// sequence.
TEST_F(Conservation, CopiesLostBeforeTheApplianceAreGapsInTheirSessions) {
  Scenario scenario = Load(std::filesystem::path(ROCESCOPE_SCENARIOS) / "healthy.yaml");
  TurnEverythingOn(scenario.telemetry);
  scenario.duration = 3 * kMillisecond;
  scenario.telemetry.collector_rate = 100'000'000'000;
  Simulate(scenario);
  ASSERT_FALSE(HasFatalFailure());
  ReadFiles();
  ASSERT_FALSE(HasFatalFailure());
  uint64_t missing = 0;
  for (const topology::Tap& tap : simulation_->fabric().taps()) {
    uint64_t copied = 0;
    for (const PortIndex port : tap.ports) copied += Counts(port)[Metric::kRxPackets];
    const test::Sequence& sequence = files_->sessions[{tap.node, tap.session}].sequence;
    EXPECT_EQ(sequence.backwards, 0u);
    EXPECT_LE(sequence.next, copied);
    // Losses after the last received copy do not show in the sequence.
    EXPECT_EQ(copied - sequence.arrived, sequence.Gaps() + (copied - sequence.next));
    missing += copied - sequence.arrived;
  }
  EXPECT_GT(missing, 0u);
  EXPECT_EQ(missing, simulation_->telemetry().mirror_port()->counts().lost);
}

}  // namespace
}  // namespace rocescope::sim
