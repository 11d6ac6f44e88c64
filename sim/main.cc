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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/text/yaml_fields.h"
#include "sim/draw/draw.h"
#include "sim/emit/output_file.h"
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

// A progress line that is overwritten in place; shown on a terminal only.
class ProgressLine {
 public:
  explicit ProgressLine(SimTime end) : end_(end), shows_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shows_) Print(stderr, "\r\033[K");
  }

  void Show(SimTime now, uint64_t events) {
    const auto wall = std::chrono::steady_clock::now();
    if (!shows_ || wall - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = wall;
    const double took = std::chrono::duration<double>(wall - begin_).count();
    const double share = static_cast<double>(now) / static_cast<double>(end_);
    Print(stderr, "\r\033[K{:.2f} of {:.2f} ms, {:.1f} M events/s, {:.0f} s left",
          static_cast<double>(now) / kMillisecond, static_cast<double>(end_) / kMillisecond,
          static_cast<double>(events) / took / 1e6, share > 0 ? took / share - took : 0);
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
};

// Completes truth.json with the victims of faults. The run's engine must no longer exist.
Status AddVictims(VictimStudy& study, const VictimStudy::RunWithout& run,
                  const std::string& directory) {
  const bool shows = isatty(STDERR_FILENO) != 0;
  const Status ran = study.Run(run, [&](size_t done, size_t all) {
    if (shows) Print(stderr, "\r\033[Kvictims: {} of {} faults", done, all);
  });
  if (shows) Print(stderr, "\r\033[K");
  if (!ran) return ran;
  return WriteFile(directory + "/truth.json", RenderTruth(study.truth()));
}

int Run(const RunOptions& options) {
  const auto& [path, output, seed, epoch, dilation, record, victims] = options;
  const auto text = ReadFile(path, "; `rocescope-sim list` shows the included scenarios");
  if (!text) return Fail(text.error(), kExitInput);
  auto scenario = LoadScenario(*text, path, seed);
  if (!scenario) return Fail(scenario.error(), kExitInput);
  scenario->epoch = epoch.value_or(scenario->epoch);
  scenario->dilation = dilation;
  if (record && scenario->telemetry.recording_steps == 0) {
    scenario->telemetry.recording_steps = kDefaultRecordingSteps;
  }
  auto simulation = Simulation::Make(*scenario, output);
  if (!simulation) {
    const bool unwritten = simulation.error().code == ErrorCode::kUnavailable;
    return Fail(simulation.error(), unwritten ? kExitOutput : kExitInput);
  }
  {
    ProgressLine line(scenario->duration);
    const Status ran = (*simulation)->Run([&](SimTime now) {
      line.Show(now, (*simulation)->network().engine().events());
    });
    if (!ran) return Fail(ran.error(), kExitOutput);
  }
  uint64_t frames = 0;
  for (topology::NicIndex i = 0; i < (*simulation)->fabric().nics().size(); ++i) {
    frames += (*simulation)->network().nic(i).counters().tx_frames;
  }
  std::FILE* const out = output.stream ? stderr : stdout;
  Print(out, "{}: {} frames sent in {:.2f} ms, seed {}; written to {}\n", scenario->name, frames,
        static_cast<double>(scenario->duration) / kMillisecond, scenario->seed,
        output.directory.empty() ? "standard output" : output.directory);
  for (const Injector::Happened& fault : (*simulation)->injector().happened()) {
    Print(out, "  {}: {} frames affected, {}\n", InfoOf(fault.options.kind).name, fault.affected,
          fault.visible == kNever ? std::string("never observable")
                                  : fmt::format("observable from {:.3f} ms",
                                                static_cast<double>(fault.visible) / kMillisecond));
  }
  if (!victims || scenario->faults.empty() || output.directory.empty()) return 0;
  const Outcome outcome = OutcomeOf(**simulation);
  VictimStudy study(**simulation, outcome, TruthOf(**simulation, outcome));
  simulation->reset();
  if (Status added = AddVictims(study, PacketRunWithout(*scenario), output.directory); !added) {
    return Fail(added.error(), kExitOutput);
  }
  return 0;
}

// Reports an error if standard output could not be written.
int Flushed(int code) {
  if (code != 0 || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return code;
  return Fail({.code = ErrorCode::kUnavailable, .message = "cannot write to standard output"},
              kExitOutput);
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

int CollectWithProfile(const ApplyOptions& options, const std::string& name,
                       const std::string& directory) {
  const auto profile = FindProfile(name, directory);
  if (!profile) return Fail(profile.error(), kExitInput);
  const auto report = ApplyProfile(options, *profile, RecordingOpener());
  if (!report) {
    const bool unwritten = report.error().code == ErrorCode::kUnavailable ||
                           report.error().code == ErrorCode::kResourceExhausted ||
                           report.error().code == ErrorCode::kPermissionDenied;
    return Fail(report.error(), unwritten ? kExitOutput : kExitInput);
  }
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
                "record all counters 20 times in each analysis window, for `profile` (default: as "
                "the scenario says)");
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
  draw->add_option("--windows", drawing.windows,
                   "length of each run in analysis windows of 1 ms (default: about 22 iterations)")
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
    return Flushed(rocescope::sim::CollectWithProfile(applying, profile_name, profiles));
  }
  if (*draw) return Flushed(rocescope::sim::DrawAll(priors, drawing, count, drawn));
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
                                        .victims = !no_victims};
  if (*seeded) options.seed = seed;
  if (*begins) options.epoch = rocescope::Timestamp(std::chrono::seconds(epoch));
  return Flushed(rocescope::sim::Run(options));
}
