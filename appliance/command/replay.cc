// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/replay.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <array>

#include "analytics/engine/engine.h"
#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"
#include "appliance/command/output.h"
#include "appliance/command/stop_signal.h"
#include "appliance/feed/host_files.h"
#include "appliance/report/replay_report.h"
#include "appliance/report/traffic_notes.h"
#include "dataplane/lcore/frame_processor.h"
#include "dataplane/source/merge.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

FrameProcessor::Options ProcessorOptions(const ReplayOptions& options) {
  FrameProcessor::Options result;
  result.flow_table.interval = options.interval;
  result.filter = options.filter;
  result.check_icrc = options.check_icrc;
  result.captures = options.captures.names;
  return result;
}

// The captures' way through the dataplane into the engine.
class Replay {
 public:
  explicit Replay(const ReplayOptions& options)
      : options_(options), processor_(ProcessorOptions(options)) {}

  Engine& engine() { return engine_; }
  const FrameProcessor& processor() const { return processor_; }
  const CaptureExtent& extent() const { return extent_; }

  // The error is one of the command line: a time window that nothing can fall into.
  Status Take(std::span<RawFrame> batch) {
    if (!opened_) {
      const Result<TimeWindow> window = options_.filter.WindowFrom(batch[0].timestamp);
      if (!window) return tl::unexpected(window.error());
      window_ = *window;
      opened_ = true;
    }
    extent_.Add(batch);
    if (!window_.KeepsAll()) {
      const size_t kept = KeepWithin(window_, batch);
      processor_.CountFiltered(batch.size() - kept);
      batch = batch.first(kept);
    }
    processor_.Process(batch, records_);
    if (records_.flows.size() + records_.sightings.size() >= kWorthIngesting) Ingest();
    return {};
  }

  void Finish() {
    processor_.Flush(records_);
    Ingest();
  }

 private:
  static constexpr size_t kWorthIngesting = 4096;  // records, some 700 kB: stays in the cache

  void Ingest() {
    engine_.Ingest(records_);
    if (processor_.counters().ledger.decoded > 0) engine_.Advance(processor_.counters().last);
    records_.Clear();
  }

  const ReplayOptions& options_;
  FrameProcessor processor_;
  // What was paired in the first hour still counts in the last.
  Engine engine_{ConnectionOptions{.forget_after = Duration::max()}};
  CaptureExtent extent_;
  RecordBatch records_;
  TimeWindow window_;
  bool opened_ = false;
};

}  // namespace

int RunReplay(const ReplayOptions& options) {
  if (options.interval > FlowTable::kMaximumInterval ||
      options.interval < std::chrono::milliseconds(1)) {
    Message("--interval: a flow record covers 1 ms to 4 s");
    return kExitUsage;
  }
  Result<HostFiles> hosts = ReadHostFiles(options.nccl_logs, options.rdma);
  if (!hosts) {
    Message(hosts.error().message);
    return kExitUnreadable;
  }
  auto source = OpenCaptures(options.captures.files);
  if (!source) {
    Message(source.error().message);
    return kExitUnreadable;
  }

  Replay replay(options);
  replay.engine().SetHostFacts(std::move(hosts->facts));
  std::vector<std::string> notes = std::move(hosts->notes);
  std::array<RawFrame, kBatchFrames> batch;
  bool damaged = false;
  while (true) {
    const Result<size_t> count = (*source)->ReadBatch(batch);
    if (!count) {
      Message(count.error().message);
      notes.push_back(count.error().message);
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
  for (const std::string& note : statistics.notes) {
    Message(note);
    notes.push_back(note);
  }

  if (InputEndedBySignal()) {
    notes.emplace_back("a signal ended the input: the report covers what came before");
    Message(notes.back());
  }

  const std::shared_ptr<const Snapshot> snapshot = replay.engine().Publish();
  for (std::string& note : NotesOnTraffic(*snapshot, replay.processor().taps().taps())) {
    notes.push_back(std::move(note));
  }
  google::protobuf::Arena arena;  // a report of many flows is tens of thousands of messages
  const v1::ReplayReport& report = BuildReplayReport({.processor = replay.processor(),
                                                      .snapshot = *snapshot,
                                                      .extent = replay.extent(),
                                                      .notes = std::move(notes)},
                                                     arena);
  const std::string text =
      options.format == ReportFormat::kJson ? RenderJson(report) : RenderText(report);
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  const bool cut = statistics.damaged_tails > 0 && !LiveInputEndedBySignal(options.captures);
  return damaged || cut ? kExitDamaged : kExitSuccess;
}

}  // namespace rocescope
