// SPDX-License-Identifier: BSD-3-Clause
// rocescope-sim run: simulates a scenario.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>

#include "sim/command/command.h"
#include "sim/emit/output_file.h"
#include "sim/flow/flow_run.h"
#include "sim/run/simulation.h"
#include "sim/run/victims.h"
#include "sim/run/write_truth.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

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
  std::optional<uint64_t> epoch;  // seconds
  uint32_t dilation = 1;
  bool record = false;
  bool no_victims = false;
  std::string model;     // empty: that of the scenario
  std::string profiles;  // directory of the included profiles
};

// Shows on a terminal for how many faults the victims are known.
void ShowVictims(size_t done, size_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  Print(stderr, "\r\033[Kvictims: {} of {} faults", done, all);
}

void PrintFaults(std::FILE* out, std::span<const Injector::Happened> faults, Model model) {
  for (const Injector::Happened& fault : faults) {
    const std::string affected = AffectedText(fault, model);
    Print(out, "  {}: {}{}{}\n", InfoOf(fault.options.kind).name, affected,
          affected.empty() ? "" : ", ",
          fault.visible == kNever ? std::string("never observable")
                                  : fmt::format("observable from {}", TimeText(fault.visible)));
  }
}

// The profile of a scenario: an included one, or a file relative to the scenario's.
Result<Profile> ProfileOfScenario(const std::string& name, topology::Place place,
                                  const RunOptions& options) {
  const bool is_file = name.ends_with(".yaml");
  const std::filesystem::path beside = std::filesystem::path(options.path).parent_path() / name;
  auto profile = FindProfile(is_file ? beside.string() : name, options.profiles);
  if (!profile) {
    return MakeError(profile.error().code, fmt::format("{}:{}:{}: {}", options.path, place.line,
                                                       place.column, profile.error().message));
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
                         .victims = !options.no_victims,
                         .profile = ExactProfile(scenario)};
  if (telemetry.profile.empty() && telemetry.counter_period <= 0) {
    return refuse("telemetry: the flow model needs a counter_period above 0 or a profile");
  }
  if (!telemetry.profile.empty()) {
    auto profile = ProfileOfScenario(telemetry.profile, telemetry.profile_place, options);
    if (!profile) return Fail(profile.error(), kExitInput);
    flow.profile = *std::move(profile);
  }
  for (const TelemetryOptions::NodesWithProfile& override : telemetry.overrides) {
    auto profile = ProfileOfScenario(override.profile, override.place, options);
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
  PrintFaults(stdout, report->faults, Model::kFlow);
  return 0;
}

// A long run of the packet model would take days and write tens of gigabytes. A stream takes as
// long as its reader allows, and writes no files.
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

// No program can read later times.
Status CheckEpoch(const RunOptions& options, const Scenario& scenario) {
  const TelemetryOptions& on = scenario.telemetry;
  const bool captures = !on.mirrors.empty() || on.int_exponent || on.sflow_rate > 0;
  const bool is_pcap = captures && !options.output.stream;
  // pcap files have 32 bits for the seconds.
  const Timestamp latest = is_pcap ? Timestamp(std::chrono::seconds(UINT32_MAX)) : kLatestTime;
  const auto length = Duration(scenario.duration / kNanosecond);
  if (scenario.epoch <= latest && length <= (latest - scenario.epoch) / scenario.dilation) {
    return {};
  }
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("--epoch {}: the run would end after {}, the latest second {}: use "
                               "an earlier --epoch",
                               ToNanoseconds(scenario.epoch) / 1'000'000'000,
                               ToNanoseconds(latest) / 1'000'000'000,
                               is_pcap ? "that capture files can contain" : "that is supported"));
}

int Run(const RunOptions& options) {
  const std::string& path = options.path;
  const Simulation::Output& output = options.output;
  const auto text = ReadFile(path, "; `rocescope-sim list` shows the included scenarios");
  if (!text) return Fail(text.error(), kExitInput);
  std::optional<Model> model;
  if (!options.model.empty()) model = options.model == "flow" ? Model::kFlow : Model::kPacket;
  auto scenario = LoadScenario(*text, path, options.seed, model);
  if (!scenario) return Fail(scenario.error(), kExitInput);
  if (options.epoch) scenario->epoch = Timestamp(std::chrono::seconds(*options.epoch));
  scenario->dilation = options.dilation;
  if (options.record && scenario->telemetry.recording_steps == 0) {
    scenario->telemetry.recording_steps = kDefaultRecordingSteps;
  }
  if (scenario->model == Model::kPacket && !(output.stream && output.directory.empty())) {
    const Status fits = CheckPacketRun(*scenario, path);
    if (!fits) return Fail(fits.error(), kExitInput);
  }
  if (const Status fits = CheckEpoch(options, *scenario); !fits) {
    return Fail(fits.error(), kExitUsage);
  }
  if (scenario->model == Model::kFlow) return RunFlow(options, *scenario);
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
  if (!simulation) return Fail(simulation.error(), ExitCodeOf(simulation.error()));
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
  PrintFaults(out, (*simulation)->injector().happened(), Model::kPacket);
  if (options.no_victims || scenario->faults.empty() || output.directory.empty()) return 0;
  const Outcome outcome = OutcomeOf(**simulation);
  VictimStudy study(**simulation, outcome);
  v1::Truth truth = TruthOf(**simulation, outcome);
  simulation->reset();
  Status added = study.Run(PacketRunWithout(*scenario), &ShowVictims, truth);
  if (added) added = WriteFile(output.directory + "/truth.json", RenderTruth(truth));
  return added ? 0 : Fail(added.error(), kExitOutput);
}

int CheckAndRun(RunOptions options) {
  const auto fail = [](std::string_view message) {
    Print(stderr, "rocescope-sim: {}\n", message);
    return kExitUsage;
  };
  const bool streams = options.output.stream;
  if (options.output.directory.empty() && !streams) {
    return fail("no output selected: specify -d DIR or --stream");
  }
  if (streams && isatty(STDOUT_FILENO) != 0) {
    return fail("--stream writes binary data: redirect standard output to a pipe or a file");
  }
  if (options.record && options.output.directory.empty()) return fail("--record needs -d DIR");
  if (!options.output.counters.empty() && !streams) {
    return fail("--counters needs --stream: without it, the counters are in DIR/counters.jsonl");
  }
  options.dilation = std::max(options.dilation, 1u);
  return Run(options);
}

}  // namespace

void AddRun(CLI::App& app, const Included& included, int& code) {
  auto options = std::make_shared<RunOptions>();
  options->profiles = included.profiles;
  CLI::App* run = app.add_subcommand("run", "Simulate a scenario and write a run directory");
  run->add_option("SCENARIO", options->path, "scenario file (YAML)")->required()->type_name("");
  run->add_option("--model", options->model,
                  "packet: simulate each packet (milliseconds; at most 10 s and 1,000 analysis "
                  "windows; no limit with --stream and without -d); flow: simulate rates (hours); "
                  "default: the "
                  "model of the scenario")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->type_name("MODEL");
  run->add_option("--profiles", options->profiles, "directory of the included profiles")
      ->type_name("DIR");
  run->add_option("-d", options->output.directory,
                  "run directory; created if it does not exist, and a run in it is replaced")
      ->type_name("DIR");
  run->add_flag(
      "--stream", options->output.stream,
      "write all captured frames to standard output as one pcapng stream; DIR receives only "
      "the other files; without -d, the length of a run is not limited");
  run->add_option("--counters", options->output.counters,
                  "with --stream: file or named pipe for the counters (default: counters.jsonl in "
                  "DIR)")
      ->type_name("FILE");
  run->add_option("--seed", options->seed, "random seed (default: the seed in the scenario)")
      ->check(WholeNumber(UINT64_MAX >> 1))
      ->type_name("N");
  run->add_option("--epoch", options->epoch,
                  "start time of the run, in seconds since 1970-01-01 UTC")
      ->check(WholeNumber(kLatestTime.time_since_epoch() / std::chrono::seconds(1)))
      ->type_name("SECONDS");
  run->add_option(
         "--dilate", options->dilation,
         "multiply all times by N and divide all speeds by N, so that the run can be replayed "
         "in real time at a lower packet rate (default: 1)")
      ->check(WholeNumber(1'000'000))
      ->type_name("N");
  run->add_flag("--no-victims", options->no_victims,
                "skip the runs without each fault that find the jobs that it affects; truth.json "
                "then states that they are unknown");
  run->add_flag("--record", options->record,
                "record the exact counters, for `profile`: 20 times in each analysis window "
                "(default: as the scenario says), or in the flow model their whole history");
  run->callback([options, &code] { code = CheckAndRun(*options); });
}

}  // namespace rocescope::sim
