// SPDX-License-Identifier: BSD-3-Clause
// rocescope-sim: simulates a fabric and writes its telemetry. Links ns-3 (GPL-2.0-only).
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/text/name_range.h"
#include "base/text/yaml_fields.h"
#include "sim/draw/draw.h"
#include "sim/emit/output_file.h"
#include "sim/flow/flow_run.h"
#include "sim/flow/history_file.h"
#include "sim/profile/apply.h"
#include "sim/run/simulation.h"
#include "sim/run/victims.h"
#include "sim/run/write_truth.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitInput = 3;
constexpr int kExitOutput = 4;

constexpr const char* kFooter =
    "Exit codes: 0 success; 2 invalid command line; 3 the scenario, profile or run cannot be read\n"
    "or is invalid (nothing was simulated); 4 the output could not be written.\n"
    "rocescope-sim links ns-3 and is distributed under the GNU GPL, version 2.\n";

// Ignores write errors; main checks standard output at the end.
template <typename... Args>
void Print(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), out);
}
template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Print(stdout, format, std::forward<Args>(args)...);
}

// CLI11 alone accepts -1 and numbers above the maximum.
CLI::Validator WholeNumber(uint64_t most) {
  return {[most](const std::string& text) {
            return topology::ParseWholeNumber(text, 0, most)
                       ? std::string()
                       : fmt::format("expected a whole number from 0 to {}, found {}", most, text);
          },
          ""};
}

// CLI::Range alone accepts NaN.
CLI::Validator Finite() {
  return {[](const std::string& text) {
            return text.find_first_of("nN") == std::string::npos ? "" : text + " is not a number";
          },
          ""};
}

int Fail(const Error& error, int code) {
  Print(stderr, "rocescope-sim: {}\n", error.message);
  return code;
}

int ExitCodeOf(const Error& error) {
  const bool unwritten = error.code == ErrorCode::kUnavailable ||
                         error.code == ErrorCode::kResourceExhausted ||
                         error.code == ErrorCode::kPermissionDenied;
  return unwritten ? kExitOutput : kExitInput;
}

Result<std::string> ReadFile(const std::string& path, std::string_view hint = "") {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: cannot be opened{}", path, hint));
  }
  constexpr size_t kLongest = size_t{64} << 20;
  std::string text;
  std::string part(1u << 16, '\0');
  do {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part, 0, static_cast<size_t>(file.gcount()));
  } while (file && text.size() <= kLongest);
  if (file.bad()) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: cannot be read", path));
  }
  if (text.size() > kLongest) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the file is larger than {} MiB", path, kLongest >> 20));
  }
  return text;
}

// "12.50 ms", "3.00 s", "24.00 h"
std::string TimeText(SimTime time) {
  const auto seconds = static_cast<double>(time) / kSecond;
  constexpr double kHour = 3600;
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return seconds < kHour ? fmt::format("{:.2f} s", seconds)
                         : fmt::format("{:.2f} h", seconds / kHour);
}

// A progress line that is overwritten in place; shown on a terminal only.
class ProgressLine {
 public:
  explicit ProgressLine(SimTime end) : end_(end), shows_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shows_) Print(stderr, "\r\033[K");
  }

  void Show(SimTime now) {
    const auto wall = std::chrono::steady_clock::now();
    if (!shows_ || wall - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = wall;
    const double took = std::chrono::duration<double>(wall - begin_).count();
    const double share = static_cast<double>(now) / static_cast<double>(end_);
    Print(stderr, "\r\033[K{} of {}, {:.0f} s left", TimeText(now), TimeText(end_),
          share > 0 ? took / share - took : 0);
  }

 private:
  const SimTime end_;
  const bool shows_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_{};
};

struct RunOptions {
  std::string path;
  Simulation::Output output;
  std::optional<uint64_t> seed;
  std::optional<Timestamp> epoch;
  uint32_t dilation = 1;
  bool record = false;
  bool victims = true;
  std::optional<Model> model;
  std::string profiles;  // directory of the included profiles
};

// Shows on a terminal for how many faults the victims are known.
void ShowVictims(size_t done, size_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  Print(stderr, "\r\033[Kvictims: {} of {} faults", done, all);
}

void PrintFaults(std::FILE* out, std::span<const Injector::Happened> faults) {
  for (const Injector::Happened& fault : faults) {
    Print(out, "  {}: {} frames affected, {}\n", InfoOf(fault.options.kind).name, fault.affected,
          fault.visible == kNever ? std::string("never observable")
                                  : fmt::format("observable from {}", TimeText(fault.visible)));
  }
}

// Returns the YAML files of a directory of `what`, sorted by name.
Result<std::vector<std::filesystem::path>> FilesOf(const std::string& directory,
                                                   std::string_view what) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (error || files.empty()) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("{}: contains no {}; set the directory with --{}", directory, what, what));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Loads a profile by the name of an included one or by its file.
Result<Profile> FindProfile(const std::string& name, const std::string& directory) {
  std::string path = name;
  if (!name.ends_with(".yaml") && name.find('/') == std::string::npos) {
    const auto files = FilesOf(directory, "profiles");
    if (!files) return tl::unexpected(files.error());
    std::vector<std::string> names;
    for (const std::filesystem::path& file : *files) names.push_back(file.stem().string());
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return MakeError(
          ErrorCode::kNotFound,
          fmt::format("--profile {}: no such profile{}; `rocescope-sim list` shows the "
                      "included ones; a file name must end in .yaml",
                      name, DidYouMean(name, known)));
    }
    path = fmt::format("{}/{}.yaml", directory, name);
  }
  const auto text = ReadFile(path, "; `rocescope-sim list` shows the included profiles");
  if (!text) return tl::unexpected(text.error());
  return LoadProfile(*text, path);
}

// The profile of a scenario: an included one, or a file relative to the scenario's.
Result<Profile> ProfileOfScenario(const std::string& name, const RunOptions& options) {
  const bool is_file = name.ends_with(".yaml");
  const std::filesystem::path beside = std::filesystem::path(options.path).parent_path() / name;
  auto profile = FindProfile(is_file ? beside.string() : name, options.profiles);
  if (!profile) {
    return MakeError(profile.error().code,
                     fmt::format("{}: telemetry: {}", options.path, profile.error().message));
  }
  return profile;
}

// All counters are exact and read together.
Profile ExactProfile(const Scenario& scenario) {
  Profile profile;
  profile.name = "lab";
  profile.file = scenario.name;
  const PollSettings poll = {.period = Duration(scenario.telemetry.counter_period / kNanosecond)};
  profile.switches = profile.nics = profile.gpus = poll;
  return profile;
}

int RunFlow(const RunOptions& options, const Scenario& scenario) {
  const TelemetryOptions& telemetry = scenario.telemetry;
  const auto refuse = [&](std::string_view why) {
    return Fail(
        {.code = ErrorCode::kInvalidArgument, .message = fmt::format("{}: {}", options.path, why)},
        kExitInput);
  };
  if (options.output.stream || options.output.directory.empty()) {
    return refuse("the flow model has no packets to stream; use -d DIR");
  }
  if (options.dilation != 1) return refuse("the flow model has no --dilate: its times are real");
  FlowRunOptions flow = {.directory = options.output.directory,
                         .record = options.record,
                         .victims = options.victims,
                         .profile = ExactProfile(scenario)};
  if (telemetry.profile.empty() && telemetry.counter_period <= 0) {
    return refuse("telemetry: the flow model needs a counter_period above 0 or a profile");
  }
  if (!telemetry.profile.empty()) {
    auto profile = ProfileOfScenario(telemetry.profile, options);
    if (!profile) return Fail(profile.error(), kExitInput);
    flow.profile = *std::move(profile);
  }
  for (const TelemetryOptions::NodesWithProfile& override : telemetry.overrides) {
    auto profile = ProfileOfScenario(override.profile, options);
    if (!profile) return Fail(profile.error(), kExitInput);
    flow.overrides.push_back({.nodes = override.nodes, .profile = *std::move(profile)});
  }
  std::optional<ProgressLine> line(scenario.duration);
  const auto report = RunFlowModel(
      scenario, flow, {.run = [&](SimTime now) { line->Show(now); }, .victims = &ShowVictims});
  line.reset();
  if (!report) {
    return Fail({.code = report.error().code,
                 .message = fmt::format("{}: {}", options.path, report.error().message)},
                ExitCodeOf(report.error()));
  }
  Print("{}: {} frames sent in {}, {} readings with the profile {}, seed {}; written to {}\n",
        scenario.name, report->frames, TimeText(scenario.duration), report->counters.readings,
        flow.profile.name, scenario.seed, flow.directory);
  if (telemetry.sflow_rate > 0) {
    Print("  sFlow: {} packet samples and {} counter samples\n", report->sflow.packet_samples,
          report->sflow.counter_samples);
  }
  PrintFaults(stdout, report->faults);
  return 0;
}

// A long run of the packet model would take days and write tens of gigabytes.
Status CheckPacketRun(const Scenario& scenario, const std::string& path) {
  const Duration length(scenario.duration / kNanosecond);
  if (scenario.duration > kLongestPacketRun) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the run lasts {}, but a run of the packet model at most {}: "
                                 "shorten `duration`, or use the flow model (--model flow)",
                                 path, TimeText(scenario.duration), TimeText(kLongestPacketRun)));
  }
  if (length <= kMostPacketWindows * scenario.analysis_window) return {};
  return MakeError(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: the run has {} analysis windows, but a run of the packet model has at most "
                  "{}: shorten `duration`, or use the flow model (--model flow)",
                  path, (length - Duration(1)) / scenario.analysis_window + 1, kMostPacketWindows));
}

int Run(const RunOptions& options) {
  const auto& [path, output, seed, epoch, dilation, record, victims, model, profiles] = options;
  const auto text = ReadFile(path, "; `rocescope-sim list` shows the included scenarios");
  if (!text) return Fail(text.error(), kExitInput);
  auto scenario = LoadScenario(*text, path, seed);
  if (!scenario) return Fail(scenario.error(), kExitInput);
  scenario->epoch = epoch.value_or(scenario->epoch);
  scenario->dilation = dilation;
  if (record && scenario->telemetry.recording_steps == 0) {
    scenario->telemetry.recording_steps = kDefaultRecordingSteps;
  }
  if (model.value_or(scenario->model) == Model::kFlow) return RunFlow(options, *scenario);
  if (const Status fits = CheckPacketRun(*scenario, path); !fits) {
    return Fail(fits.error(), kExitInput);
  }
  const TelemetryOptions& telemetry = scenario->telemetry;
  if (!telemetry.profile.empty() || !telemetry.overrides.empty()) {
    return Fail({.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("{}: telemetry: only the flow model has `profile` and "
                                        "`overrides`; use `run --record` and `profile`",
                                        path)},
                kExitInput);
  }
  if (telemetry.sflow_spans) {
    return Fail({.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("{}: telemetry: only the flow model has `sflow_spans`; the "
                                        "packet model samples packets during the whole run",
                                        path)},
                kExitInput);
  }
  auto simulation = Simulation::Make(*scenario, output);
  if (!simulation) {
    const bool unwritten = simulation.error().code == ErrorCode::kUnavailable;
    return Fail(simulation.error(), unwritten ? kExitOutput : kExitInput);
  }
  {
    ProgressLine line(scenario->duration);
    const Status ran = (*simulation)->Run([&](SimTime now) { line.Show(now); });
    if (!ran) return Fail(ran.error(), kExitOutput);
  }
  uint64_t frames = 0;
  for (topology::NicIndex i = 0; i < (*simulation)->fabric().nics().size(); ++i) {
    frames += (*simulation)->network().nic(i).counters().tx_frames;
  }
  std::FILE* const out = output.stream ? stderr : stdout;
  Print(out, "{}: {} frames sent in {}, seed {}; written to {}\n", scenario->name, frames,
        TimeText(scenario->duration), scenario->seed,
        output.directory.empty() ? "standard output" : output.directory);
  PrintFaults(out, (*simulation)->injector().happened());
  if (!victims || scenario->faults.empty() || output.directory.empty()) return 0;
  const Outcome outcome = OutcomeOf(**simulation);
  VictimStudy study(**simulation, outcome);
  v1::Truth truth = TruthOf(**simulation, outcome);
  simulation->reset();
  Status added = study.Run(PacketRunWithout(*scenario), &ShowVictims, truth);
  if (added) added = WriteFile(output.directory + "/truth.json", RenderTruth(truth));
  return added ? 0 : Fail(added.error(), kExitOutput);
}

// Reports an error if standard output could not be written.
int Flushed(int code) {
  if (code != 0 || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return code;
  return Fail({.code = ErrorCode::kUnavailable, .message = "cannot write to standard output"},
              kExitOutput);
}

// "leaf[0-1]=gnmi-1s"
Result<ProfileOverride> ParseOverride(const std::string& text, const std::string& directory) {
  const size_t equals = text.find('=');
  const auto fail = [&](std::string_view why) {
    return MakeError(ErrorCode::kInvalidArgument, fmt::format("--override {}: {}", text, why));
  };
  if (equals == std::string::npos) return fail("expected NODES=NAME, such as leaf[0-1]=gnmi-1s");
  constexpr size_t kMostNodes = 100'000;
  auto nodes = topology::ExpandNames(std::string_view(text).substr(0, equals), kMostNodes);
  if (!nodes) return fail(nodes.error().message);
  auto profile = FindProfile(text.substr(equals + 1), directory);
  if (!profile) return tl::unexpected(profile.error());
  return ProfileOverride{.nodes = *std::move(nodes), .profile = *std::move(profile)};
}

int CollectWithProfile(ApplyOptions options, const std::string& name,
                       const std::vector<std::string>& overrides, const std::string& directory) {
  const auto profile = FindProfile(name, directory);
  if (!profile) return Fail(profile.error(), kExitInput);
  for (const std::string& text : overrides) {
    auto override = ParseOverride(text, directory);
    if (!override) return Fail(override.error(), kExitInput);
    options.overrides.push_back(*std::move(override));
  }
  std::error_code ignored;
  const bool is_flow =
      std::filesystem::exists(std::filesystem::path(options.run) / kHistoryFile, ignored);
  if (is_flow) options.scale = 1;  // its times are real
  const auto report =
      ApplyProfile(options, *profile, is_flow ? HistoryOpener() : RecordingOpener());
  if (!report) return Fail(report.error(), ExitCodeOf(report.error()));
  const TransformReport& counters = report->counters;
  Print("{}: {} readings with the profile {}, seed {}; written to {}\n", report->manifest.scenario,
        counters.readings, profile->name, options.seed, options.directory);
  Print("  lost: {} readings and {} polls; {} late, {} reordered, {} duplicates\n", counters.lost,
        counters.lost_polls, counters.late, counters.reordered, counters.duplicates);
  return 0;
}

int List(const std::string& directory, const std::string& profiles) {
  const auto files = FilesOf(directory, "scenarios");
  if (!files) return Fail(files.error(), kExitInput);
  for (const std::filesystem::path& file : *files) {
    const auto text = ReadFile(file.string());
    if (!text) return Fail(text.error(), kExitInput);
    const auto scenario = LoadScenario(*text, file.string());
    if (!scenario) return Fail(scenario.error(), kExitInput);
    Print("{:<28} {}\n", file.filename().string(), scenario->about);
  }
  const auto profile_files = FilesOf(profiles, "profiles");
  if (!profile_files) return Fail(profile_files.error(), kExitInput);
  Print("\nTelemetry profiles:\n");
  for (const std::filesystem::path& file : *profile_files) {
    const auto profile = FindProfile(file.string(), profiles);
    if (!profile) return Fail(profile.error(), kExitInput);
    Print("{:<28} {}\n", profile->name, profile->about);
  }
  Print("\nFault kinds:\n");
  for (const FaultInfo& fault : kFaultInfos) {
    Print("{:<28} {}: {}\n", fault.name, NameOf(fault.place), fault.sentence);
  }
  return 0;
}

int DrawAll(const std::string& priors, DrawOptions options, uint32_t count,
            const std::string& directory) {
  const auto text = ReadFile(priors, "; set the file with --priors");
  if (!text) return Fail(text.error(), kExitInput);
  auto loaded = LoadPriors(*text, priors);
  if (!loaded) return Fail(loaded.error(), kExitInput);
  options.priors = *std::move(loaded);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return Fail({.code = ErrorCode::kUnavailable,
                 .message = fmt::format("{}: cannot be created: {}", directory, error.message())},
                kExitOutput);
  }
  std::map<std::string_view, uint32_t> kinds;
  for (uint32_t number = 1; number <= count; ++number) {
    const auto drawn = DrawScenario(options, number);
    if (!drawn) return Fail(drawn.error(), kExitInput);
    const std::string path = fmt::format("{}/{}.yaml", directory, drawn->name);
    std::ofstream file(path, std::ios::binary);
    file << drawn->yaml;
    if (!file.flush()) {
      return Fail(
          {.code = ErrorCode::kUnavailable, .message = fmt::format("{}: cannot be written", path)},
          kExitOutput);
    }
    for (const FaultKind kind : drawn->kinds) ++kinds[InfoOf(kind).name];
    if (drawn->kinds.empty()) ++kinds["healthy"];
  }
  Print("{} scenarios in {}, seed {}:\n", count, directory, options.seed);
  for (const auto& [kind, number] : kinds) Print("  {:<22} {}\n", kind, number);
  return 0;
}

}  // namespace
}  // namespace rocescope::sim

int main(int argc, char** argv) {
  CLI::App app("Simulate RoCEv2 fabrics: write their telemetry and the ground truth");
  app.require_subcommand(1);
  app.footer(rocescope::sim::kFooter);
  std::string path;
  rocescope::sim::Simulation::Output output;
  std::string scenarios = ROCESCOPE_SCENARIOS;
  std::string profiles = ROCESCOPE_PROFILES;
  uint64_t seed = 0;
  CLI::App* run = app.add_subcommand("run", "Simulate a scenario and write a run directory");
  run->add_option("SCENARIO", path, "scenario file (YAML)")->required()->type_name("");
  std::string model;
  run->add_option("--model", model,
                  "packet: simulate each packet (milliseconds; at most 10 s and 1,000 analysis "
                  "windows); flow: simulate rates (hours); default: the model of the scenario")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->type_name("MODEL");
  run->add_option("--profiles", profiles, "directory of the included profiles")->type_name("DIR");
  run->add_option("-d", output.directory, "run directory; created if it does not exist")
      ->type_name("DIR");
  run->add_flag(
      "--stream", output.stream,
      "write all captured frames to standard output as one pcapng stream; DIR receives only "
      "the other files");
  const CLI::Option* seeded =
      run->add_option("--seed", seed, "random seed (default: the seed in the scenario)")
          ->check(rocescope::sim::WholeNumber(UINT64_MAX >> 1))
          ->type_name("N");
  uint64_t epoch = 0;
  const CLI::Option* begins =
      run->add_option("--epoch", epoch, "start time of the run, in seconds since 1970-01-01 UTC")
          ->check(rocescope::sim::WholeNumber(uint64_t{1} << 33))
          ->type_name("SECONDS");
  uint32_t dilation = 1;
  run->add_option(
         "--dilate", dilation,
         "multiply all times by N and divide all speeds by N, so that the run can be replayed "
         "in real time at a lower packet rate (default: 1)")
      ->check(rocescope::sim::WholeNumber(1'000'000))
      ->type_name("N");
  bool no_victims = false;
  run->add_flag("--no-victims", no_victims,
                "skip the runs without each fault that find the jobs that it affects; truth.json "
                "then states that they are unknown");
  bool record = false;
  run->add_flag("--record", record,
                "record the exact counters, for `profile`: 20 times in each analysis window "
                "(default: as the scenario says), or in the flow model their whole history");
  CLI::App* list = app.add_subcommand(
      "list", "List the included scenarios, the telemetry profiles and the fault types");
  list->add_option("--scenarios", scenarios, "directory of the scenarios")->type_name("DIR");
  list->add_option("--profiles", profiles, "directory of the profiles")->type_name("DIR");
  rocescope::sim::ApplyOptions applying;
  std::string profile_name;
  CLI::App* profile = app.add_subcommand(
      "profile", "Write a recorded run as a collector with a telemetry profile would have seen it");
  profile->add_option("RUN", applying.run, "run directory written with `run --record`")
      ->required()
      ->type_name("");
  profile
      ->add_option("--profile", profile_name,
                   "name of an included profile (see `list`), or a file that ends in .yaml")
      ->required()
      ->type_name("NAME");
  std::vector<std::string> overrides;
  profile
      ->add_option("--override", overrides,
                   "read some nodes with another profile; for example 'leaf[0-1]=gnmi-1s'; may be "
                   "repeated")
      ->expected(1)
      ->take_all()
      ->type_name("NODES=NAME");
  profile
      ->add_option("-d", applying.directory,
                   "run directory to write; created if it does not "
                   "exist")
      ->required()
      ->type_name("DIR");
  profile
      ->add_option("--seed", applying.seed,
                   "random seed of the phases, losses and delays (default: 1)")
      ->check(rocescope::sim::WholeNumber(UINT64_MAX >> 1))
      ->type_name("N");
  profile->add_option("--profiles", profiles, "directory of the included profiles")
      ->type_name("DIR");
  std::string priors = ROCESCOPE_PRIORS;
  rocescope::sim::DrawOptions drawing;
  uint32_t count = 0;
  std::string drawn;
  CLI::App* draw =
      app.add_subcommand("draw", "Generate random scenarios, one file each, for `run`");
  std::string drawn_model;
  draw->add_option(
          "--model", drawn_model,
          "packet: runs of milliseconds; flow: runs of one to six hours, with benign events "
          "and up to four concurrent faults as with --benign and --max-faults 4 (default: "
          "packet)")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->type_name("MODEL");
  draw->add_option("--count", count, "number of scenarios")
      ->required()
      ->check(CLI::Range(1, 9999))
      ->type_name("N");
  draw->add_option("--seed", drawing.seed,
                   "random seed; the same seed gives the same files (default: 1)")
      ->check(rocescope::sim::WholeNumber(UINT64_MAX))
      ->type_name("N");
  draw->add_option("-d", drawn, "output directory; created if it does not exist")
      ->required()
      ->type_name("DIR");
  draw->add_flag("--stratified", drawing.stratified,
                 "draw all fault types equally often instead of by weight");
  draw->add_option("--priors", priors,
                   "file with the weights of the fault types and the loss rates")
      ->type_name("FILE");
  draw->add_option("--healthy", drawing.healthy,
                   "fraction of healthy scenarios, which have no fault (default: 0.3)")
      ->check(CLI::Range(0.0, 1.0) & rocescope::sim::Finite())
      ->type_name("FRACTION");
  draw->add_option(
          "--max-faults", drawing.most_faults,
          "draw up to N concurrent faults in each scenario with faults, as in the field: "
          "severities over their whole range, faults that grow, several faults at one place "
          "(default: one fault that is visible within milliseconds)")
      ->check(CLI::Range(1u, rocescope::sim::kMaxConcurrent))
      ->type_name("N");
  draw->add_flag("--lift", drawing.lift,
                 "with --max-faults: raise loss rates until the losses are visible in the run");
  draw->add_flag(
      "--benign", drawing.benign,
      "add events that are not faults: rare errors, maintenance, restarts, other traffic");
  draw->add_flag(
      "--default-logs", drawing.default_logs,
      "write all NCCL logs as NCCL_DEBUG=INFO does by default, without queue pair numbers "
      "(default: in one of four scenarios)");
  draw->add_option("--windows", drawing.windows,
                   "length of each run in analysis windows of 1 ms, or of 30 s in the flow model "
                   "(default: about 22 iterations, or one to six hours)")
      ->check(CLI::Range(rocescope::sim::kMinWindows, rocescope::sim::kMaxWindows))
      ->type_name("N");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : rocescope::sim::kExitUsage;
  }
  using rocescope::sim::Flushed;
  if (*list) return Flushed(rocescope::sim::List(scenarios, profiles));
  if (*profile) {
    return Flushed(rocescope::sim::CollectWithProfile(applying, profile_name, overrides, profiles));
  }
  if (*draw) {
    if (drawn_model == "flow") {
      drawing.model = rocescope::sim::Model::kFlow;
      drawing.benign = true;
      if (drawing.most_faults == 0) drawing.most_faults = rocescope::sim::kMaxConcurrent;
    }
    return Flushed(rocescope::sim::DrawAll(priors, drawing, count, drawn));
  }
  if (output.directory.empty() && !output.stream) {
    rocescope::sim::Print(stderr,
                          "rocescope-sim: no output selected: specify -d DIR or --stream\n");
    return rocescope::sim::kExitUsage;
  }
  if (output.stream && isatty(STDOUT_FILENO) != 0) {
    rocescope::sim::Print(stderr,
                          "rocescope-sim: --stream writes binary data: redirect standard output to "
                          "a pipe or a file\n");
    return rocescope::sim::kExitUsage;
  }
  if (record && output.directory.empty()) {
    rocescope::sim::Print(stderr, "rocescope-sim: --record needs -d DIR\n");
    return rocescope::sim::kExitUsage;
  }
  rocescope::sim::RunOptions options = {.path = path,
                                        .output = output,
                                        .dilation = std::max(dilation, 1u),
                                        .record = record,
                                        .victims = !no_victims,
                                        .profiles = profiles};
  if (!model.empty()) {
    options.model = model == "flow" ? rocescope::sim::Model::kFlow : rocescope::sim::Model::kPacket;
  }
  if (*seeded) options.seed = seed;
  if (*begins) options.epoch = rocescope::Timestamp(std::chrono::seconds(epoch));
  return Flushed(rocescope::sim::Run(options));
}
