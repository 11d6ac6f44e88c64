// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/score.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/cli/command/counter_input.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/replay.h"
#include "appliance/cli/score/baseline.h"
#include "appliance/cli/score/kind_weights.h"
#include "appliance/cli/score/score.h"
#include "appliance/cli/score/score_text.h"
#include "appliance/cli/score/summary.h"
#include "appliance/cli/score/view.h"
#include "appliance/common/files/mirror_view.h"
#include "appliance/common/files/run_directory.h"
#include "appliance/common/files/text_file.h"
#include "appliance/common/report/job_report.h"
#include "appliance/common/report/message_json.h"
#include "appliance/common/report/table.h"
#include "dataplane/telemetry/counter_file.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

namespace fs = std::filesystem;

constexpr int kBarMissed = 1;
constexpr int kError = 2;
constexpr int kNoGoal = 3;
constexpr uintmax_t kLargestFile = uintmax_t{4} << 30;
constexpr std::string_view kScoreSuffix = ".score.json";

int Fail(const Error& error) {
  MessageLines(error.message);
  return kError;
}

constexpr double kFullFrame = 4170;  // bytes

// Sampling rate during the whole run; 0: none. In spans of a run, a large flow may have no samples.
double SflowRate(const v1::Truth& truth) { return truth.sflow_in_spans() ? 0 : truth.sflow_rate(); }

// A flow of this many bytes has ten samples in a switch, with full frames.
double ElephantBytes(const v1::Truth& truth) {
  constexpr double kSamples = 10;
  return kSamples * SflowRate(truth) * kFullFrame;
}

// Between leaves of different pods, the spine below the core, the core switch and the spine above
// the destination each identify the core switch.
double SamplesPerByte(const v1::Truth& truth) {
  constexpr double kTellingSwitches = 3;
  if (truth.switch_tiers() < 3 || SflowRate(truth) == 0) return 0;
  return kTellingSwitches / (SflowRate(truth) * kFullFrame);
}

bool HasAll(const RunDirectory& run, const RunParts& parts) {
  const RunManifest::Telemetry& on = run.manifest.telemetry;
  return (parts.mirror == MirrorSessions::kNone || on.mirror) &&
         (!parts.int_reports || on.int_reports) && (!parts.sflow || on.sflow) &&
         (!(parts.counters || parts.switch_counters) || on.counters) &&
         (!parts.nccl_logs || on.nccl_logs) && (!parts.rdma || on.rdma) &&
         (!parts.slurm || !run.slurm.empty());
}

// In the syntax of --only.
std::string PartsOf(const RunDirectory& run) {
  const RunManifest::Telemetry& on = run.manifest.telemetry;
  std::vector<std::string_view> parts;
  if (on.mirror) parts.push_back("mirror");
  if (on.int_reports) parts.push_back("int");
  if (on.sflow) parts.push_back("sflow");
  if (on.counters) parts.push_back("counters");
  if (on.nccl_logs) parts.push_back("nccl");
  if (on.rdma) parts.push_back("rdma");
  if (!run.slurm.empty()) parts.push_back("slurm");
  return fmt::format("{}", fmt::join(parts, ","));
}

// Data that is the same for all views of a run.
struct RunContext {
  RunDirectory run;
  std::optional<topology::Fabric> fabric;
  v1::Truth truth;
};

// Without a topology, leaf switches are unknown. If it is unreadable, the replay reports the error.
bool MayMirror(const RunContext& context, const RunParts& parts) {
  if (context.fabric) return HasSessions(*context.fabric, parts.mirror);
  return !context.run.topology.empty() || parts.mirror != MirrorSessions::kLeafPorts;
}

std::optional<topology::Fabric> ReadFabricOf(const RunDirectory& run) {
  if (run.topology.empty()) return std::nullopt;
  const Result<std::string> text = ReadTextFile(run.topology, kLargestFile);
  if (!text) return std::nullopt;
  auto fabric = topology::LoadFabric(*text, run.topology);
  if (!fabric) return std::nullopt;
  return *std::move(fabric);
}

// Returns whether the capture has packets within the run's time.
bool IsOfRun(const v1::ReplayReport& report, const v1::Truth& truth) {
  return Nanoseconds(report.extent().end_time()) >= truth.start_ns() &&
         Nanoseconds(report.extent().start_time()) <= truth.end_ns();
}

// A bound on the link utilisation, from the counters of the view.
Result<std::vector<Alarm>> FindBusyLinks(const RunContext& context, const RunParts& parts,
                                         const LinkOfPort& links) {
  if (context.run.counters.empty() || !(parts.counters || parts.switch_counters)) return {};
  Result<std::unique_ptr<CounterFile>> file = OpenCountersOfRun(context.run.counters);
  if (!file) return tl::unexpected(file.error());
  if (!parts.counters) (*file)->KeepOnly(EntityKind::kPort);
  UtilisationBaseline baseline(context.run.manifest.analysis_window.count());
  constexpr size_t kLinesAtOnce = 4096;
  for (bool more = true; more;) {
    RecordBatch records;
    const Result<bool> taken = (*file)->TakeUntil(Timestamp::max(), records, kLinesAtOnce);
    if (!taken) return tl::unexpected(taken.error());
    baseline.Take(records.counters);
    more = *taken;
  }
  return baseline.Alarms(links);
}

Status ScoreBaselines(const RunContext& context, const RunParts& parts,
                      const v1::ReplayReport& report, v1::FindingScore& score) {
  if (!context.fabric) return {};
  const LinkOfPort links = LinksByPort(*context.fabric);
  const Result<std::vector<Alarm>> busy = FindBusyLinks(context, parts, links);
  if (!busy) return tl::unexpected(busy.error());
  ScoreBaseline(context.truth, kUtilisationBaseline, *busy, score);
  ScoreBaseline(context.truth, kVotingBaseline, VotingAlarms(report, links), score);
  return {};
}

// One analysis in each analysis window, and at most a thousand in a run, because each of them takes
// up to some tenths of a second.
Duration StepOf(const RunContext& context) {
  constexpr int64_t kMostSteps = 1000;
  const int64_t length = context.truth.end_ns() - context.truth.start_ns();
  return std::max(context.run.manifest.analysis_window, Duration(length / kMostSteps));
}

// Appends the findings of an analysis at the time `now`.
void Keep(Timestamp now, const Snapshot& snapshot, std::vector<v1::Finding>& reported) {
  for (const Finding& finding : *snapshot.findings) {
    v1::Finding& out = reported.emplace_back();
    FillFinding(snapshot, finding, out);
    *out.mutable_detection_time() = TimestampMessage(now);
  }
}

// Replays the run with the view's telemetry, or reads the given report, and scores it.
Status ScoreOne(const ScoreRunOptions& options, const View& view, const RunContext& context,
                std::string_view parts, v1::Score& score) {
  const v1::Truth& truth = context.truth;
  google::protobuf::Arena arena;
  const v1::ReplayReport* report = nullptr;
  std::vector<v1::Finding> reported;
  const ReplayWatch watch = {
      .start = FromNanoseconds(truth.start_ns()),
      .step = StepOf(context),
      .look = [&](Timestamp now, const Snapshot& snapshot) { Keep(now, snapshot, reported); }};
  if (options.report.empty()) {
    ReplayOptions replay;
    replay.run_directory = options.path;
    replay.parts = ParseRunParts(parts).value();
    replay.mirror_loss = view.mirror_loss;
    replay.says_view = false;
    if (view.about_faults) replay.watch = &watch;
    if (Replay(replay, arena, report) != kExitSuccess) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("{}: could not be replayed completely, so it cannot be scored",
                                   options.path));
    }
  } else {
    const Result<std::string> text = ReadTextFile(options.report, kLargestFile, Pipes::kRead);
    if (!text) return tl::unexpected(text.error());
    auto* const read = google::protobuf::Arena::CreateMessage<v1::ReplayReport>(&arena);
    const auto status = google::protobuf::util::JsonStringToMessage(*text, read);
    if (!status.ok()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: not a report of `rocescope replay -o json`: {}",
                                   options.report, std::string(status.message())));
    }
    report = read;
    if (!IsOfRun(*report, truth)) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: not a report of the run in {}: its extent ({} to {} ns) is "
                      "not within that of the run ({} to {} ns)",
                      options.report, options.path, Nanoseconds(report->extent().start_time()),
                      Nanoseconds(report->extent().end_time()), truth.start_ns(), truth.end_ns()));
    }
  }
  if (!report->suspected_findings().empty()) {
    // The score separates them by their confidence.
    auto* const all = google::protobuf::Arena::CreateMessage<v1::ReplayReport>(&arena);
    *all = *report;
    all->mutable_findings()->MergeFrom(all->suspected_findings());
    report = all;
  }
  v1::ViewScore& out = *score.add_views();
  out.set_view(std::string(view.name));
  out.set_parts(std::string(parts));
  out.set_mirror_loss_ratio(view.mirror_loss);
  ScoreView(truth, *report,
            {.elephant_bytes = view.elephants_alone ? ElephantBytes(truth) : 0,
             .samples_per_byte = view.samples_close_gaps ? SamplesPerByte(truth) : 0,
             .has_activity = view.has_activity,
             .about_faults = view.about_faults,
             .window_ns = context.run.manifest.analysis_window.count(),
             .reported = reported},
            out);
  if (!view.about_faults) return {};
  return ScoreBaselines(context, ParseRunParts(parts).value(), *report, *out.mutable_findings());
}

// Returns the parts of a list in the syntax of --only that the run does not have.
std::vector<std::string> MissingParts(const RunContext& context, std::string_view parts) {
  std::vector<std::string> missing;
  while (!parts.empty()) {
    const std::string_view part = parts.substr(0, parts.find(','));
    parts.remove_prefix(std::min(parts.size(), part.size() + 1));
    const Result<RunParts> needed = ParseRunParts(part);
    if (needed && HasAll(context.run, *needed) && MayMirror(context, *needed)) continue;
    missing.emplace_back(part);
  }
  return missing;
}

// A view that was requested, explicitly or by default, but not scored.
struct SkippedView {
  std::string_view name;
  std::vector<std::string> missing;  // telemetry that the run lacks
};

struct ScoredRun {
  v1::Score score;
  std::vector<SkippedView> skipped;
  bool is_all_by_default = false;  // no other view about faults could be scored
};

// Lists the views that were scored, and why others were not.
std::string RenderViews(const ScoredRun& run) {
  TextTable table({{"VIEW"}, {"SCORED"}, {"REASON"}});
  for (const v1::ViewScore& view : run.score.views()) {
    const bool is_fallback = run.is_all_by_default && view.view() == kCompleteView;
    table.Add({view.view(), "yes",
               is_fallback ? "the run lacks telemetry of each other view about faults" : ""});
  }
  for (const SkippedView& view : run.skipped) {
    table.Add({std::string(view.name), "no",
               fmt::format("the run lacks {}", fmt::join(view.missing, ", "))});
  }
  return "\nVIEWS\n\n" + table.Render(2);
}

// Selects views by name or group; without names, all except those that must be named.
bool IsWanted(const View& view, std::span<const std::string> names) {
  if (names.empty()) return !view.when_named;
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::count(ViewsNamed(name), &view) > 0;
  });
}

Result<ScoredRun> ScoreDirectory(const ScoreRunOptions& options) {
  Result<RunDirectory> run = OpenRunDirectory(options.path);
  if (!run) return tl::unexpected(run.error());
  if (!run->notes.empty()) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("{}; the remaining scores are not representative", run->notes.front()));
  }
  const std::string file = options.path + "/truth.json";
  const Result<std::string> text = ReadTextFile(file, kLargestFile);
  if (!text) return tl::unexpected(text.error());
  RunContext context = {.run = *std::move(run), .fabric = {}, .truth = {}};
  v1::Truth& truth = context.truth;
  if (const Status parsed = ParseTruth(*text, file, truth); !parsed) {
    return tl::unexpected(parsed.error());
  }
  ScoredRun out;
  v1::Score& score = out.score;
  score.set_schema_version(4);
  score.set_scenario(truth.scenario());
  score.set_seed(truth.seed());
  score.set_switch_tier_count(truth.switch_tiers());
  score.set_profile(truth.profile().name());
  for (const v1::TruthFault& fault : truth.faults()) score.add_faults(fault.kind());
  context.fabric = ReadFabricOf(context.run);
  const std::string of_run = PartsOf(context.run);
  std::string lacking;
  bool has_faults = false;  // a view about faults was scored
  for (const View& view : Views()) {
    const bool asked = std::ranges::find(options.views, view.name) != options.views.end();
    out.is_all_by_default =
        view.name == kCompleteView && options.views.empty() && !has_faults && !of_run.empty();
    if (!IsWanted(view, options.views) && !out.is_all_by_default) continue;
    std::string_view parts = truth.switch_tiers() > 2 && !view.three_tiers_parts.empty()
                                 ? view.three_tiers_parts
                                 : view.parts;
    if (parts.empty()) parts = of_run;
    if (std::vector<std::string> missing = MissingParts(context, parts); !missing.empty()) {
      lacking += fmt::format("\n  {} requires {}", view.name, parts);
      out.skipped.push_back({.name = view.name, .missing = std::move(missing)});
      if (!asked) continue;
      return MakeError(
          ErrorCode::kNotFound,
          fmt::format("--view {}: {} does not have all of its telemetry ({}), but {}; --view all "
                      "uses whatever the run has",
                      view.name, options.path, parts, of_run.empty() ? "none" : of_run));
    }
    if (const Status scored = ScoreOne(options, view, context, parts, score); !scored) {
      return tl::unexpected(scored.error());
    }
    has_faults |= view.about_faults;
  }
  if (score.views().empty()) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("{}: nothing to score: it has {}, which is not enough for any "
                                 "requested view; --view all uses whatever the run has{}",
                                 options.path, of_run.empty() ? "no telemetry" : of_run, lacking));
  }
  return out;
}

// The scores in a directory, sorted by name.
Result<std::vector<v1::Score>> ReadScores(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("{}: not a directory: expected a run directory or a directory of scores",
                    folder));
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().string().ends_with(kScoreSuffix)) files.push_back(entry.path().string());
  }
  if (files.empty()) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("{}: has neither a run.json nor *{} files: expected a run "
                                 "directory, or the scores/ directory of a campaign",
                                 folder, kScoreSuffix));
  }
  std::ranges::sort(files);
  std::vector<v1::Score> scores;
  for (const std::string& file : files) {
    const Result<std::string> text = ReadTextFile(file, kLargestFile);
    if (!text) return tl::unexpected(text.error());
    v1::Score score;
    if (const Status parsed = ParseScore(*text, file, score); !parsed) {
      return tl::unexpected(parsed.error());
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace

int RunScore(const ScoreRunOptions& options) {
  if (options.summary && options.format != ReportFormat::kJson) {
    return Fail({.message = "--summary: requires -o json; the text always has the figures"});
  }
  for (const std::string& name : options.views) {
    if (!ViewsNamed(name).empty()) continue;
    std::vector<std::string_view> names = {"paths", "diagnosis"};
    for (const View& view : Views()) names.push_back(view.name);
    return Fail(
        {.message = fmt::format("--view {}: expected one of {}", name, fmt::join(names, ", "))});
  }
  if (!options.report.empty() &&
      (options.views.size() != 1 || FindView(options.views[0]) == nullptr)) {
    return Fail(
        {.message =
             "--report: requires exactly one --view, the one that the report was made with"});
  }
  KindWeights weights;
  if (!options.priors.empty()) {
    constexpr uintmax_t kLargestPriors = uintmax_t{1} << 20;
    const Result<std::string> text = ReadTextFile(options.priors, kLargestPriors, Pipes::kRead);
    if (!text) return Fail(text.error());
    Result<KindWeights> read = LoadKindWeights(*text, options.priors);
    if (!read) {
      MessageLines(read.error().message);
      return kError;
    }
    weights = *std::move(read);
  }
  std::vector<v1::Score> scores;
  std::string views;
  std::error_code ignored;
  const bool is_run = fs::exists(fs::path(options.path) / "run.json", ignored);
  if (is_run) {
    Result<ScoredRun> scored = ScoreDirectory(options);
    if (!scored) return Fail(scored.error());
    if (options.views.empty() || !scored->skipped.empty()) views = RenderViews(*scored);
    for (const SkippedView& view : scored->skipped) {
      if (options.format != ReportFormat::kJson) break;
      Message(fmt::format("view {} was not scored: the run lacks {}", view.name,
                          fmt::join(view.missing, ", ")));
    }
    scores.push_back(std::move(scored->score));
  } else {
    auto read = ReadScores(options.path);
    if (!read) return Fail(read.error());
    scores = *std::move(read);
  }
  const ScoreTable table = RenderScores(scores, weights);
  // A single run is too small to judge the calibration of confidences.
  const bool is_judged = table.has_goals || (!is_run && table.is_judged);
  std::string text = table.text + views;
  if (!is_judged) text += "\nNothing was judged: no goal applies to a measured figure.\n";
  if (options.format == ReportFormat::kJson) {
    text.clear();
    if (options.summary) {
      v1::ScoreSummary summary;
      Summarise(scores, weights, summary);
      AppendJson(summary, true, text);
      text += '\n';
    } else {
      for (const v1::Score& score : scores) {
        AppendJson(score, false, text);
        text += '\n';
      }
    }
  }
  if (WriteToStdout(text) == OutputState::kFailed) return kError;
  if (!is_judged) return kNoGoal;
  return table.all_hold && (is_run || table.is_calibrated) ? kExitSuccess : kBarMissed;
}

}  // namespace rocescope
