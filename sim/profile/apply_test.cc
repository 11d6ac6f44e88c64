// SPDX-License-Identifier: BSD-3-Clause
// Simulates a small scenario with a recording and applies profiles to it.
#include "sim/profile/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "dataplane/run/counter_columns_reader.h"
#include "dataplane/run/counter_line.h"
#include "sim/recording/recorded_counters.h"
#include "sim/recording/recording_identity.h"
#include "sim/run/simulation.h"
#include "topology/yaml.h"

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Profile Load(const std::string& name) {
  const fs::path path = fs::path(ROCESCOPE_PROFILES) / (name + ".yaml");
  return LoadProfile(ReadAll(path), path.string()).value();
}

// Readings by time, entity and metric.
using Key = std::tuple<int64_t, EntityKind, std::string, std::string, uint8_t, uint32_t, Metric>;
using Readings = std::map<Key, uint64_t>;

void Add(Readings& readings, Timestamp time, const CounterEntity& entity, Metric metric,
         uint64_t value) {
  readings[{ToNanoseconds(time), entity.kind, entity.node, entity.port, entity.priority,
            entity.index, metric}] = value;
}

Readings ReadLines(const fs::path& path) {
  Readings readings;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    const CounterLine line = ParseCounterLine(text).value();
    for (const auto& [metric, value] : line.metrics) {
      Add(readings, line.time, line.entity, metric, value);
    }
  }
  return readings;
}

Readings ReadColumns(const fs::path& path) {
  Readings readings;
  const auto reader = CounterColumnsReader::Open(path.string()).value();
  CounterColumnsReader::Reading reading;
  while (reader->Next(reading).value()) {
    const auto& entity = reader->entity(reading.number);
    for (size_t i = 0; i < entity.metrics.size(); ++i) {
      Add(readings, reading.time, entity.entity, entity.metrics[i], reading.values[i]);
    }
  }
  return readings;
}

// One simulation serves all tests.
class ApplyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = fs::temp_directory_path() / ("rocescope-profile-" + std::to_string(getpid()));
    Simulate("recorded", "recording_steps: 20, ");
  }
  static void TearDownTestSuite() { fs::remove_all(directory_); }

  static void Simulate(const std::string& name, const std::string& telemetry,
                       std::optional<uint64_t> seed = std::nullopt) {
    const std::string text =
        "name: test\n"
        "duration: 8ms\n"
        "fabric: {generate: {shape: leaf-spine, hosts: 8, leaves: 4, spines: 2, host_speed: 25G, "
        "fabric_speed: 25G}}\n"
        "jobs: [{name: train, hosts: 'host[0-5]', queue_pairs: 2, phases: [{collective: ring, "
        "size: 1M, compute: 50us}]}]\n"
        "streams: [{from: host6, to: host7, load: 0.2, message: 64K}]\n"
        "faults: [{kind: gray_loss, sender: 'leaf0:Ethernet3', onset: 3ms, duration: 3ms, "
        "probability: 0.05}, {kind: switch_crash, switch: spine1, onset: 5200us, duration: 1ms}]\n"
        "telemetry: {" +
        telemetry + "mirror: all, sflow_rate: 100, int_exponent: 4, rdma: true}\n";
    const auto scenario = LoadScenario(text, "test.yaml", seed);
    ASSERT_TRUE(scenario.has_value()) << scenario.error().message;
    auto simulation = Simulation::Make(*scenario, {.directory = Path(name)});
    ASSERT_TRUE(simulation.has_value()) << simulation.error().message;
    ASSERT_TRUE((*simulation)->Run({}).has_value());
  }
  static std::string Path(const std::string& name) { return (directory_ / name).string(); }
  static ApplyReport Apply(const Profile& profile, const std::string& to, uint64_t seed = 1) {
    auto report = ApplyProfile({.run = Path("recorded"), .directory = Path(to), .seed = seed},
                               profile, RecordingOpener());
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report ? *std::move(report) : ApplyReport();
  }
  static std::set<std::string> FilesOf(const std::string& name) {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(Path(name))) {
      if (!entry.is_directory()) files.insert(entry.path().lexically_relative(Path(name)).string());
    }
    return files;
  }
  static nlohmann::json TruthOf(const std::string& name) {
    return nlohmann::json::parse(ReadAll(Path(name) + "/truth.json"));
  }

  static inline fs::path directory_;
};

TEST_F(ApplyTest, RecordingDoesNotChangeTheRun) {
  Simulate("plain", "");
  for (const char* file : {"counters.jsonl", "mirror.pcap", "truth.json", "run.json"}) {
    EXPECT_EQ(ReadAll(Path("plain") + "/" + file), ReadAll(Path("recorded") + "/" + file)) << file;
  }
  std::set<std::string> files = FilesOf("plain");
  files.insert({kRecordingFile, kIdentityFile});
  EXPECT_EQ(files, FilesOf("recorded"));
}

TEST_F(ApplyTest, LabProfileHasTheReadingsOfTheRun) {
  const ApplyReport report = Apply(Load("lab"), "lab");
  const Readings recorded = ReadLines(Path("recorded") + "/counters.jsonl");
  const Readings lab = ReadColumns(Path("lab") + "/counters.columns");
  ASSERT_GT(recorded.size(), 5'000u);
  EXPECT_TRUE(recorded == lab);
  for (const auto& [key, value] : recorded) {
    const auto at = lab.find(key);
    ASSERT_TRUE(at != lab.end() && at->second == value)
        << std::get<2>(key) << ':' << std::get<3>(key) << ' ' << InfoOf(std::get<6>(key)).name
        << " at " << std::get<0>(key) << ": " << value << ", not "
        << (at == lab.end() ? std::string("nothing") : std::to_string(at->second));
  }
  EXPECT_EQ(report.manifest.counter_period, std::chrono::milliseconds(1));
}

TEST_F(ApplyTest, LabProfileKeepsAllOtherTelemetry) {
  Apply(Load("lab"), "lab");
  std::set<std::string> files = FilesOf("recorded");
  files.erase(kRecordingFile);
  files.erase(kIdentityFile);
  files.erase("counters.jsonl");
  files.insert("counters.columns");
  EXPECT_EQ(FilesOf("lab"), files);
  for (const char* file :
       {"mirror.pcap", "int.pcap", "sflow.pcap", "slurm.json", "topology.yaml"}) {
    EXPECT_EQ(ReadAll(Path("lab") + "/" + file), ReadAll(Path("recorded") + "/" + file)) << file;
  }
  const auto manifest = ParseRunManifest(ReadAll(Path("lab") + "/run.json")).value();
  EXPECT_EQ(manifest, ParseRunManifest(ReadAll(Path("recorded") + "/run.json")).value());
}

TEST_F(ApplyTest, ProfileSaysWhichTelemetryIsPresent) {
  Apply(Load("counters-only"), "only");
  EXPECT_EQ(FilesOf("only"),
            (std::set<std::string>{"counters.columns", "run.json", "topology.yaml", "truth.json"}));
  const auto manifest = ParseRunManifest(ReadAll(Path("only") + "/run.json")).value();
  EXPECT_EQ(manifest.telemetry, (RunManifest::Telemetry{.counters = true}));
  const auto fabric = topology::LoadFabric(ReadAll(Path("only") + "/topology.yaml"), "").value();
  EXPECT_TRUE(fabric.taps().empty());
}

TEST_F(ApplyTest, SampledLeafMirrorHasOnlyTheSessionsOfLeaves) {
  const ApplyReport report = Apply(Load("leaf-mirror-sampled"), "sampled");
  EXPECT_GT(report.mirrored_frames, 20u);
  EXPECT_LT(fs::file_size(Path("sampled") + "/mirror.pcap"),
            fs::file_size(Path("recorded") + "/mirror.pcap") / 50);
  const auto fabric = topology::LoadFabric(ReadAll(Path("sampled") + "/topology.yaml"), "").value();
  EXPECT_EQ(fabric.taps().size(), 4u);
  for (const topology::Tap& tap : fabric.taps()) {
    EXPECT_EQ(fabric.node(tap.node).tier, topology::Tier::kLeaf);
  }
  EXPECT_TRUE(ParseRunManifest(ReadAll(Path("sampled") + "/run.json")).value().telemetry.mirror);
}

TEST_F(ApplyTest, OnlyTheTruthNamesTheProfile) {
  Apply(Load("as-deployed"), "deployed");
  EXPECT_THAT(ReadAll(Path("deployed") + "/run.json"), Not(HasSubstr("as-deployed")));
  EXPECT_THAT(ReadAll(Path("deployed") + "/topology.yaml"), Not(HasSubstr("as-deployed")));
  const nlohmann::json profile = TruthOf("deployed")["profile"];
  EXPECT_EQ(profile["name"], "as-deployed");
  EXPECT_NEAR(profile["scale"].get<double>(), 30'000, 1e-6) << "30 s are 1 ms";
  EXPECT_EQ(profile["pollers"].size(), 6u + 2 * 8) << "switches, NICs and GPUs of hosts";
}

// The truth of the run says what happened; the limits depend on the profile.
TEST_F(ApplyTest, DetectionLimitsGrowWithStalenessAndSkew) {
  Apply(Load("lab"), "lab");
  Apply(Load("snmp-30s"), "snmp");
  const nlohmann::json lab = TruthOf("lab")["faults"];
  const nlohmann::json snmp = TruthOf("snmp")["faults"];
  ASSERT_EQ(lab[0]["kind"], "gray_loss");
  const double lost = std::stod(lab[0]["affected_frames"].get<std::string>());
  EXPECT_GT(lost, 50);
  EXPECT_GE(lab[0]["detection_limit_frames"].get<double>(), 1);
  EXPECT_LT(lab[0]["detection_limit_frames"].get<double>(), lost);
  EXPECT_GT(snmp[0]["detection_limit_frames"].get<double>(),
            lab[0]["detection_limit_frames"].get<double>());
  EXPECT_EQ(lab[1]["detection_limit_frames"].get<double>(), 0) << "a crash is not silent";
  nlohmann::json recorded = TruthOf("recorded");
  nlohmann::json after = TruthOf("lab");
  after.erase("profile");
  recorded.erase("profile");
  after["faults"][0]["detection_limit_frames"] = 0.0;
  EXPECT_EQ(after, recorded);
}

// transform.h states the property. The recording is exact at its steps.
TEST_F(ApplyTest, CountersOfEveryProfileAreExactWithinTheirStaleness) {
  const auto fabric =
      topology::LoadFabric(ReadAll(Path("recorded") + "/topology.yaml"), "").value();
  const auto exact =
      RecordedCounters::Open(Path("recorded") + "/" + kRecordingFile, fabric).value();
  std::map<std::tuple<EntityKind, std::string, std::string, uint8_t>, uint32_t> entities;
  for (uint32_t i = 0; i < exact->entities().size(); ++i) {
    const CounterEntity& entity = exact->entities()[i].entity;
    entities[{entity.kind, entity.node, entity.port, entity.priority}] = i;
  }
  const Duration step = std::chrono::microseconds(50);
  for (const char* name : {"gnmi-1s", "gnmi-10s", "snmp-30s", "as-deployed"}) {
    Profile profile = Load(name);
    profile.random_start_values = false;
    profile.restarts_per_day = 0;
    profile.counters_survive_reboots = true;
    for (VendorClass& vendor : profile.switch_vendors) {
      vendor.quirk.reset();
      vendor.wrapping.reset();
    }
    const TransformReport report = Apply(profile, "conserved").counters;
    size_t compared = 0;
    for (const auto& [key, value] : ReadColumns(Path("conserved") + "/counters.columns")) {
      const auto& [time_ns, kind, node, port, priority, index, metric] = key;
      if (kind == EntityKind::kGpu || InfoOf(metric).kind != MetricKind::kCounter) continue;
      const uint32_t entity = entities.at({kind, node, port, priority});
      const PollerReport& poller = report.pollers[report.poller_of[entity]];
      const Timestamp time = FromNanoseconds(time_ns);
      const Duration clock = report.greatest_clock_error;
      const std::vector<Metric>& metrics = exact->entities()[entity].metrics;
      const auto at =
          static_cast<size_t>(std::find(metrics.begin(), metrics.end(), metric) - metrics.begin());
      std::vector<uint64_t> values(metrics.size());
      const Timestamp least = std::max(exact->begin(), time - poller.staleness - clock);
      // A device that is down at one of the bounds has no value there.
      if (exact->Read(entity, least, least, values)) {
        ASSERT_GE(value, values[at]) << name << ' ' << node << ':' << port;
        ++compared;
      }
      if (exact->Read(entity, time + clock, time + clock, values)) {
        ASSERT_LE(value, values[at]) << name << ' ' << node << ':' << port;
        ++compared;
      }
    }
    EXPECT_GT(compared, 3'000u) << name << " with steps of " << step.count() << " ns";
  }
}

TEST_F(ApplyTest, SameSeedGivesTheSameBytes) {
  const auto bytes = [](const std::string& name, uint64_t seed) {
    Apply(Load("as-deployed"), name, seed);
    return ReadAll(Path(name) + "/counters.columns") + ReadAll(Path(name) + "/truth.json");
  };
  EXPECT_EQ(bytes("a", 3), bytes("b", 3));
  EXPECT_NE(bytes("a", 3), bytes("b", 4));
}

TEST_F(ApplyTest, NewProfileReplacesAnEarlierOne) {
  Apply(Load("lab"), "reused");
  const std::string mirror = ReadAll(Path("recorded") + "/mirror.pcap");
  Apply(Load("counters-only"), "reused");
  EXPECT_EQ(FilesOf("reused").size(), 4u);
  Apply(Load("leaf-mirror-sampled"), "reused");
  EXPECT_EQ(ReadAll(Path("recorded") + "/mirror.pcap"), mirror) << "the linked file is unchanged";
}

TEST_F(ApplyTest, RecordingsOfOtherRunsAreErrors) {
  Simulate("other", "recording_steps: 20, ", 9);
  const auto error = [](std::initializer_list<const char*> copied) {
    fs::remove_all(Path("mixed"));
    fs::copy(Path("recorded"), Path("mixed"), fs::copy_options::recursive);
    for (const char* file : copied) {
      fs::copy_file(Path("other/") + file, Path("mixed/") + file,
                    fs::copy_options::overwrite_existing);
    }
    const auto report = ApplyProfile({.run = Path("mixed"), .directory = Path("never")},
                                     Load("lab"), RecordingOpener());
    return report ? std::string() : report.error().message;
  };
  EXPECT_THAT(error({kRecordingFile}),
              HasSubstr("counters.columns: the recording belongs to another run: its length or "
                        "CRC-32 differs from recording.json; simulate the scenario again"));
  EXPECT_THAT(error({kRecordingFile, kIdentityFile}),
              HasSubstr("recording.json: the recording belongs to another run: its seed is 9, that "
                        "of run.json 1"));
  EXPECT_THAT(error({"truth.json"}), HasSubstr("truth.json: the truth belongs to another run"));
  EXPECT_THAT(error({"truth.json", "run.json"}), HasSubstr("its seed is 1, that of run.json 9"));
  EXPECT_FALSE(fs::exists(Path("never")));

  fs::remove_all(Path("mixed"));
  fs::copy(Path("recorded"), Path("mixed"), fs::copy_options::recursive);
  std::ofstream(Path("mixed/") + kHistoryFile) << "x";
  auto report = ApplyProfile({.run = Path("mixed"), .directory = Path("never")}, Load("lab"),
                             RecordingOpener());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message,
              HasSubstr("history.columns: the recording belongs to another run: recording.json "
                        "describes counters.columns"));
  fs::remove(Path("mixed/") + kHistoryFile);
  fs::remove(Path("mixed/") + kIdentityFile);
  report = ApplyProfile({.run = Path("mixed"), .directory = Path("never")}, Load("lab"),
                        RecordingOpener());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("simulate the scenario again"));
}

TEST_F(ApplyTest, AFailedProfileLeavesNoRunThatLooksValid) {
  Apply(Load("as-deployed"), "kept");
  const auto bytes = [](const std::string& name) {
    std::string all;
    for (const std::string& file : FilesOf(name)) all += file + ReadAll(Path(name) + "/" + file);
    return all;
  };
  const std::string before = bytes("kept");
  Profile nothing = Load("lab");
  nothing.unread_switches = nothing.unread_hosts = 1;
  const auto report = ApplyProfile({.run = Path("recorded"), .directory = Path("kept")}, nothing,
                                   RecordingOpener());
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("leaves no readings in"));
  EXPECT_EQ(bytes("kept"), before);

  // Interrupted later: the input has no capture.
  fs::copy(Path("recorded"), Path("damaged"), fs::copy_options::recursive);
  fs::remove(Path("damaged") + "/int.pcap");
  EXPECT_FALSE(ApplyProfile({.run = Path("damaged"), .directory = Path("kept")}, Load("lab"),
                            RecordingOpener()));
  EXPECT_FALSE(fs::exists(Path("kept") + "/run.json"));
  EXPECT_TRUE(fs::exists(Path("kept") + "/mirror.pcap"));
  Apply(Load("counters-only"), "kept");
  EXPECT_EQ(FilesOf("kept"),
            (std::set<std::string>{"counters.columns", "run.json", "topology.yaml", "truth.json"}));
}

TEST_F(ApplyTest, TheOutputIsOutsideTheRecordedRun) {
  const std::string run = Path("recorded");
  const std::set<std::string> before = FilesOf("recorded");
  fs::create_symlink(run + "/recording", Path("link"));
  for (const std::string& to : {run, run + "/recording", run + "/recording/", run + "/new/deep",
                                run + "/../recorded/nccl", Path("link"), directory_.string()}) {
    const auto report = ApplyProfile({.run = run, .directory = to}, Load("lab"), RecordingOpener());
    ASSERT_FALSE(report) << to;
    EXPECT_THAT(report.error().message, HasSubstr("-d " + to + ": the output must not replace"));
  }
  EXPECT_EQ(FilesOf("recorded"), before);
  fs::remove(Path("link"));
}

// An interrupted run leaves hard links without run.json.
TEST_F(ApplyTest, LinksInTheOutputAreReplacedNotWrittenTo) {
  const std::string run = Path("recorded");
  const auto bytes = [&] {
    std::map<std::string, std::string> all;
    for (const std::string& file : FilesOf("recorded")) all[file] = ReadAll(run + "/" + file);
    return all;
  };
  const auto before = bytes();
  const auto link = [&](const std::string& from) {
    fs::create_symlink(run + "/" + from, Path("linked") + "/" + from);
  };
  for (const bool is_run : {false, true}) {
    fs::create_directory(Path("linked"));
    fs::create_symlink(run + "/recording/counters.columns", Path("linked") + "/counters.columns");
    for (const char* name : {"truth.json", "topology.yaml", "nccl", "recording"}) link(name);
    if (is_run) link("run.json");
    fs::create_hard_link(run + "/mirror.pcap", Path("linked") + "/mirror.pcap");
    Apply(Load("leaf-mirror-sampled"), "linked");
    EXPECT_EQ(bytes(), before);
    for (const auto& entry : fs::recursive_directory_iterator(Path("linked"))) {
      EXPECT_FALSE(entry.is_symlink()) << entry.path();
    }
    fs::remove_all(Path("linked"));
  }
}

TEST_F(ApplyTest, ErrorsNameTheFileAndTheRemedy) {
  const auto error = [](const std::string& run, const std::string& to) {
    const auto report = ApplyProfile({.run = run, .directory = to}, Load("lab"), RecordingOpener());
    return report ? std::string() : report.error().message;
  };
  EXPECT_THAT(error("/nonexistent", Path("x")), HasSubstr("/nonexistent/run.json"));
  EXPECT_THAT(error(Path("recorded"), Path("recorded")), HasSubstr("choose another directory"));
  EXPECT_TRUE(fs::exists(Path("recorded") + "/truth.json"));
  Apply(Load("lab"), "lab");
  EXPECT_THAT(error(Path("lab"), Path("x")),
              HasSubstr("recording/counters.columns: no exact recording"));
  fs::copy(Path("recorded"), Path("unrecorded"), fs::copy_options::recursive);
  fs::remove(Path("unrecorded") + "/" + kRecordingFile);
  EXPECT_THAT(error(Path("unrecorded"), Path("x")), HasSubstr("rocescope-sim run --record"));
  for (const char* file :
       {kRecordingFile, kIdentityFile, "run.json", "truth.json", "mirror.pcap"}) {
    fs::remove_all(Path("unrecorded"));
    fs::copy(Path("recorded"), Path("unrecorded"), fs::copy_options::recursive);
    const std::string path = Path("unrecorded/") + file;
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(error(Path("unrecorded"), Path("x")), path + ": not a regular file");
    fs::remove(path);
    if (geteuid() == 0) continue;  // root may read everything
    fs::copy_file(Path("recorded/") + file, path);
    fs::permissions(path, fs::perms::none);
    EXPECT_EQ(error(Path("unrecorded"), Path("x")), path + ": cannot be opened: Permission denied");
  }
  if (geteuid() != 0) {
    fs::permissions(Path("unrecorded/recording"), fs::perms::none);
    EXPECT_THAT(error(Path("unrecorded"), Path("x")), HasSubstr("Permission denied"));
    fs::permissions(Path("unrecorded/recording"), fs::perms::owner_all);
  }
  EXPECT_THAT(error(Path("recorded"), "/dev/null/x"), HasSubstr("/dev/null/x: cannot be created"));
}

}  // namespace
}  // namespace rocescope::sim
