// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/replay.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "appliance/cli/command/counter_input.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/cli/command/replay_page.h"
#include "appliance/cli/command/sandboxed_run.h"
#include "appliance/cli/command/stop_signal.h"
#include "appliance/cli/command/via_dpdk.h"
#include "appliance/common/files/mirror_view.h"
#include "appliance/common/files/run_directory.h"
#include "appliance/common/report/replay_report.h"
#include "appliance/common/report/table.h"
#include "dataplane/source/merge.h"
#include "dataplane/telemetry/counter_file.h"

namespace rocescope {
namespace {

// Passes the frames of the captures through the dataplane into the engine.
class ReplayRun {
 public:
  // `counters` may be null.
  ReplayRun(const ReplayOptions& options, const MirrorView::Options& view, Analysis& analysis,
            CounterFile* counters)
      : filter_(options.analysis.filter),
        analysis_(analysis),
        counters_(counters),
        watch_(options.watch),
        view_(view),
        processor_(ProcessorOptions(options.analysis, options.captures.names)) {
    if (watch_ != nullptr) next_look_ = watch_->start + watch_->step;
    analysis_.Follow(processor_.taps().registry());
  }

  const FrameProcessor& processor() const { return processor_; }
  const CaptureExtent& extent() const { return extent_; }
  const MirrorView& view() const { return view_; }

  // A time window that cannot contain any frame is a usage error.
  Status Take(std::span<RawFrame> batch) {
    if (!view_.ShowsAll()) batch = batch.first(view_.Keep(batch));
    if (batch.empty()) return {};
    if (!opened_) {
      if (const Status opened = OpenWindow(batch[0].timestamp); !opened) return opened;
    }
    extent_.Add(batch);
    while (!batch.empty()) {
      EndStepBefore(batch[0].timestamp);
      const std::span<RawFrame> next = WithinStep(BeforeNextLook(
          batch.first(std::min(batch.size(), kFramesAtOnce - frames_ % kFramesAtOnce))));
      if (next.empty()) {
        Look();
        continue;
      }
      frames_ += next.size();
      const Timestamp reached = next.back().timestamp;
      Account(next);
      TakeCounters(reached);
      if (frames_ % kFramesAtOnce == 0) Ingest();
      batch = batch.subspan(next.size());
    }
    return {};
  }

  void Finish() {
    if (!opened_) (void)OpenWindow(std::nullopt);
    TakeCounters(LastBefore(next_look_));
    while (LooksAgain() && counters_ != nullptr && counters_->has_later_reading()) Look();
    processor_.Flush(records_);
    TakeCounters(Timestamp::max());
    Ingest();
    if (watch_ != nullptr) watch_->look(next_look_, *analysis_.Publish());
  }

  bool counters_damaged() const { return counters_damaged_; }
  std::optional<Timestamp> first_reading() const { return first_reading_; }

 private:
  // The engine takes a step after so many frames and, if there are counters, after so many analysis
  // windows: otherwise, few frames (sFlow) would be analysed long after the counters of the same
  // time. Both are counted from the first frame, so that the result does not depend on how a source
  // batches frames.
  static constexpr size_t kFramesAtOnce = 16'384;
  static constexpr int64_t kWindowsAtOnce = 16;

  // Bounds the work if a time in the input is wrong by years.
  static constexpr size_t kMostLooks = 10'000;

  bool LooksAgain() const { return watch_ != nullptr && looks_ < kMostLooks; }
  static Timestamp LastBefore(Timestamp time) { return time - Duration(1); }
  std::span<RawFrame> BeforeNextLook(std::span<RawFrame> batch) const {
    if (!LooksAgain()) return batch;
    const auto later = std::ranges::find_if(
        batch, [&](const RawFrame& frame) { return frame.timestamp >= next_look_; });
    return {batch.begin(), later};
  }
  void Look() {
    processor_.Advance(next_look_, records_);
    TakeCounters(LastBefore(next_look_));
    Ingest();
    watch_->look(next_look_, *analysis_.Publish());
    next_look_ += watch_->step;
    ++looks_;
  }

  void EndStepBefore(Timestamp frame) {
    if (counters_ == nullptr) return;
    const Duration step = kWindowsAtOnce * analysis_.window();
    if (!step_end_) step_end_ = frame + step;
    if (frame < *step_end_) return;
    TakeCounters(LastBefore(*step_end_));
    Ingest();
    *step_end_ += (frame - *step_end_) / step * step + step;
  }
  std::span<RawFrame> WithinStep(std::span<RawFrame> batch) const {
    if (!step_end_) return batch;
    const auto later = std::ranges::find_if(
        batch, [&](const RawFrame& frame) { return frame.timestamp >= *step_end_; });
    return {batch.begin(), later};
  }

  void Account(std::span<RawFrame> batch) {
    if (!window_.KeepsAll()) {
      const size_t kept = KeepWithin(window_, batch);
      processor_.CountFiltered(batch.size() - kept);
      batch = batch.first(kept);
    }
    processor_.Process(batch, records_);
  }

  // A relative window starts at the first frame or counter reading.
  Status OpenWindow(std::optional<Timestamp> frame) {
    if (counters_ != nullptr) {
      const Result<std::optional<Timestamp>> reading = counters_->NextTime();
      if (reading) {
        first_reading_ = *reading;
      } else {
        NoteDamage(reading.error());
      }
    }
    const Result<TimeWindow> window =
        filter_.WindowFrom(EarliestOf(frame, first_reading_).value_or(Timestamp{}));
    if (!window) return tl::unexpected(window.error());
    window_ = *window;
    opened_ = true;
    if (counters_ != nullptr) counters_->KeepWithin(window_);
    return {};
  }

  void NoteDamage(const Error& error) {
    counters_damaged_ = true;
    analysis_.Note(error.message);
  }

  // Ingests the readings that arrived until then.
  void TakeCounters(Timestamp until) {
    if (counters_ == nullptr || counters_damaged_) return;
    constexpr size_t kLinesAtOnce = 4096;
    bool more = true;
    while (more) {
      const Result<bool> taken = counters_->TakeUntil(until, counter_records_, kLinesAtOnce);
      if (!taken) NoteDamage(taken.error());
      more = taken.value_or(false);
      const auto note_first = [&](const auto& records) {
        for (const auto& record : records) {
          first_reading_ = std::min(first_reading_.value_or(record.event_time), record.event_time);
        }
      };
      note_first(counter_records_.counters);
      note_first(counter_records_.readings);
      analysis_.Ingest(counter_records_);
      counter_records_.Clear();
    }
  }

  void Ingest() {
    analysis_.Ingest(records_);
    if (processor_.counters().ledger.decoded > 0) analysis_.Advance(processor_.counters().last);
    records_.Clear();
    constexpr uint64_t kBytesAFlow = 300;  // in the flow table
    analysis_.KeepWithinMemory(kBytesAFlow * processor_.flows().size());
  }

  const FrameFilter& filter_;
  Analysis& analysis_;
  CounterFile* const counters_;
  const ReplayWatch* const watch_;
  Timestamp next_look_ = Timestamp::max();
  size_t looks_ = 0;
  bool counters_damaged_ = false;
  std::optional<Timestamp> first_reading_;  // first reading of counters
  MirrorView view_;
  FrameProcessor processor_;
  CaptureExtent extent_;
  RecordBatch records_;
  RecordBatch counter_records_;  // separate because counters are read by time, not by frames
  size_t frames_ = 0;
  std::optional<Timestamp> step_end_;
  TimeWindow window_;
  bool opened_ = false;
};

// Adds the defaults of a run directory to the options. The error names its path.
Status Adopt(const RunDirectory& run, ReplayOptions& options) {
  AnalysisOptions& analysis = options.analysis;
  if (!run.captures.empty()) {
    Result<CaptureTaps> captures = MakeCaptureTaps(run.captures, {});
    if (!captures) return tl::unexpected(captures.error());
    options.captures = *std::move(captures);
  }
  const auto append = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(run.nccl_logs, analysis.nccl_logs);
  append(run.rdma, analysis.rdma);
  append(run.slurm, analysis.slurm);
  if (analysis.topology.empty()) analysis.topology = run.topology;
  analysis.time_scale = run.manifest.time_scale;
  analysis.ports = {.int_reports = run.manifest.ports.int_reports,
                    .int_md = run.manifest.ports.int_md,
                    .sflow = run.manifest.ports.sflow};
  if (!analysis.window) analysis.window = run.manifest.analysis_window;
  if (analysis.interval) return {};
  analysis.interval = run.manifest.record_interval;
  if (CheckAnalysis(analysis)) return {};
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}/run.json: record_interval_ns must be from 1 ms to 4 s, in "
                               "nanoseconds; override it by --interval",
                               options.run_directory));
}

// Notes what the options excluded.
void NoteView(const MirrorView& view, bool aloud, Analysis& analysis) {
  const auto note = [&](std::string text) {
    aloud ? analysis.Note(std::move(text)) : analysis.NoteQuietly(std::move(text));
  };
  if (view.unsent() > 0) {
    note(fmt::format("{} mirrored frames belong to sessions that --only excludes",
                     WithThousands(view.unsent())));
  }
  if (view.lost() > 0) {
    note(fmt::format("{} mirrored frames were dropped by --mirror-loss",
                     WithThousands(view.lost())));
  }
}

// Fills in the statistics of the run's counters. Returns true if all lines were valid.
bool LookAtCounters(const CounterFile& counters, Analysis& analysis, CounterFindings& findings) {
  findings = {.lines = counters.ledger(), .records = counters.records()};
  for (const std::string& note : counters.notes()) analysis.Note(note);
  if (counters.left_out() > 0) {
    analysis.NoteQuietly(
        fmt::format("{} counter readings are about NICs or GPUs, which --only excludes",
                    WithThousands(counters.left_out())));
  }
  if (counters.ledger().received == 0)
    analysis.Note("the counter file contains no readings: check the exporter");
  const uint64_t refused = counters.ledger().DroppedTotal();
  if (refused > counters.notes().size()) {
    analysis.Note(fmt::format("counters.jsonl: {} more lines are invalid",
                              refused - counters.notes().size()));
  }
  return refused == 0;
}

// Removes the captures of a run directory that cannot be read, and returns a note for each: the
// other files may show what is wrong in the fabric.
std::vector<std::string> DropUnreadable(std::vector<TapFile>& files) {
  std::vector<std::string> notes;
  std::erase_if(files, [&](const TapFile& file) {
    const auto source = OpenCaptures(std::span(&file, 1));
    if (!source) notes.push_back(source.error().message);
    return !source;
  });
  return notes;
}

// Calls `finish` with the result, if there is one. Returns an ExitCode: kExitDamaged if an input
// could not be read completely.
int ReplayInto(const ReplayOptions& given,
               const std::function<void(Analysis&, const Analysis::Seen&)>& finish) {
  ReplayOptions options = given;
  if (const Status checked = CheckAnalysis(options.analysis); !checked) {
    Message(checked.error().message);
    return kExitUsage;
  }
  RunDirectory run;
  std::unique_ptr<CounterFile> counters;
  if (!options.run_directory.empty()) {
    const auto unreadable = [](const Error& error) {
      Message(error.message);
      return kExitUnreadable;
    };
    Result<RunDirectory> opened = OpenRunDirectory(options.run_directory, options.parts);
    if (!opened) return unreadable(opened.error());
    run = *std::move(opened);
    if (const Status adopted = Adopt(run, options); !adopted) return unreadable(adopted.error());
    if (options.parts.mirror == MirrorSessions::kLeafPorts && run.topology.empty()) {
      Message(
          fmt::format("{}/topology.yaml is missing, so leaf switches are unknown: use --only "
                      "port-mirror, or add the file",
                      options.run_directory));
      return kExitUnreadable;
    }
    if (!options.via_dpdk && !run.counters.empty()) {
      std::ranges::move(DropUnreadable(options.captures.files), std::back_inserter(run.notes));
    }
    if (!run.counters.empty()) {
      Result<std::unique_ptr<CounterFile>> file = OpenCountersOfRun(run.counters);
      if (!file) return unreadable(file.error());
      counters = *std::move(file);
      counters->EmitGroups();
      if (!options.parts.counters) counters->KeepOnly(EntityKind::kPort);
    }
  }
  if (!options.requests.empty() && options.analysis.topology.empty()) {
    Message(
        fmt::format("{}: requires a topology: use --topology FILE (see `rocescope topology`), or "
                    "add topology.yaml to the run directory",
                    OptionOf(options.requests[0].question)));
    return kExitUsage;
  }
  Result<Analysis> analysis = Analysis::Begin(options.analysis);
  if (!analysis) {
    MessageLines(analysis.error().message);
    return kExitUnreadable;
  }
  // Files that the run's manifest lists and that are missing.
  for (const std::string& note : run.notes) analysis->Note(note);
  auto source =
      options.via_dpdk ? OpenViaDpdk(options.captures) : OpenCaptures(options.captures.files);
  if (!source) {
    Message(source.error().message);
    return source.error().code == ErrorCode::kUnimplemented ? kExitUsage : kExitUnreadable;
  }
  if (options.sandbox) SandboxReader();

  ReplayRun replay(
      options,
      {.sessions = options.parts.mirror, .loss = options.mirror_loss, .fabric = analysis->fabric()},
      *analysis, counters.get());
  std::array<RawFrame, kBatchFrames> batch;
  bool damaged = !run.notes.empty();
  while (true) {
    const Result<size_t> count = (*source)->ReadBatch(batch);
    if (!count) {
      analysis->Note(count.error().message);
      damaged = true;
    }
    if (!count || *count == 0) break;
    if (const Status taken = replay.Take(std::span(batch).first(*count)); !taken) {
      Message(taken.error().message);
      return kExitUsage;
    }
  }
  replay.Finish();
  const CaptureStatistics statistics = (*source)->Statistics();
  for (const std::string& note : statistics.notes) analysis->Note(note);
  if (InputEndedBySignal()) {
    analysis->Note("a signal ended the reading of the input; the report covers the part before it");
  }
  NoteView(replay.view(), options.says_view, *analysis);
  Analysis::Seen seen = {.extent = replay.extent()};
  seen.dataplane.Add(replay.processor());
  damaged |= replay.counters_damaged();
  if (counters) damaged |= !LookAtCounters(*counters, *analysis, seen.counters);
  seen.counters.first = replay.first_reading();
  finish(*analysis, seen);
  const bool cut = statistics.HasDamage() && !LiveInputEndedBySignal(options.captures);
  return damaged || cut ? kExitDamaged : kExitSuccess;
}

}  // namespace

int Replay(const ReplayOptions& options, google::protobuf::Arena& arena,
           const v1::ReplayReport*& report) {
  return ReplayInto(options, [&](Analysis& analysis, const Analysis::Seen& seen) {
    report = &analysis.Build(seen, arena);
  });
}

int RunReplay(const ReplayOptions& options) {
  if (!options.requests.empty()) {
    int answered = kExitSuccess;
    const int code = ReplayInto(options, [&](Analysis& analysis, const Analysis::Seen&) {
      answered = PrintDependencies(options.requests, *analysis.Publish(), options.analysis.format);
    });
    return answered == kExitSuccess ? code : answered;
  }
  if (options.analysis.format == ReportFormat::kHtml) {
    int printed = kExitSuccess;
    const int code = ReplayInto(options, [&](Analysis& analysis, const Analysis::Seen& seen) {
      printed = PrintReplayPage(analysis.Publish(), analysis.window(), seen.extent.last);
    });
    return printed == kExitSuccess ? code : printed;
  }
  google::protobuf::Arena
      arena;  // a report of many flows consists of tens of thousands of messages
  const v1::ReplayReport* report = nullptr;
  const int code = Replay(options, arena, report);
  if (report == nullptr) return code;
  if (!options.faults_alone) {
    return PrintReport(*report, options.analysis) ? code : kExitOutput;
  }
  const std::string faults = options.analysis.format == ReportFormat::kJson
                                 ? RenderFaultsJson(*report)
                                 : RenderFaultsText(*report, TextWidth());
  return WriteToStdout(faults) == OutputState::kFailed ? kExitOutput : code;
}

}  // namespace rocescope
