// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/replay.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"
#include "appliance/command/stop_signal.h"
#include "appliance/command/via_dpdk.h"
#include "dataplane/source/merge.h"

namespace rocescope {
namespace {

// The captures' way through the dataplane into the engine.
class Replay {
 public:
  Replay(const ReplayOptions& options, Analysis& analysis)
      : filter_(options.analysis.filter),
        analysis_(analysis),
        processor_(ProcessorOptions(options.analysis, options.captures.names)) {}

  const FrameProcessor& processor() const { return processor_; }
  const CaptureExtent& extent() const { return extent_; }

  // The error is one of the command line: a time window that nothing can fall into.
  Status Take(std::span<RawFrame> batch) {
    if (!opened_) {
      const Result<TimeWindow> window = filter_.WindowFrom(batch[0].timestamp);
      if (!window) return tl::unexpected(window.error());
      window_ = *window;
      opened_ = true;
    }
    extent_.Add(batch);
    while (!batch.empty()) {
      const std::span<RawFrame> next =
          batch.first(std::min(batch.size(), kFramesAtOnce - frames_ % kFramesAtOnce));
      frames_ += next.size();
      Account(next);
      if (frames_ % kFramesAtOnce == 0) Ingest();
      batch = batch.subspan(next.size());
    }
    return {};
  }

  void Finish() {
    processor_.Flush(records_);
    Ingest();
  }

 private:
  // Between two steps of the engine: counted from the input's first frame, so that answers do not
  // depend on how a source cuts it into batches.
  static constexpr size_t kFramesAtOnce = 16'384;

  void Account(std::span<RawFrame> batch) {
    if (!window_.KeepsAll()) {
      const size_t kept = KeepWithin(window_, batch);
      processor_.CountFiltered(batch.size() - kept);
      batch = batch.first(kept);
    }
    processor_.Process(batch, records_);
  }

  void Ingest() {
    analysis_.Ingest(records_);
    if (processor_.counters().ledger.decoded > 0) analysis_.Advance(processor_.counters().last);
    records_.Clear();
  }

  const FrameFilter& filter_;
  Analysis& analysis_;
  FrameProcessor processor_;
  CaptureExtent extent_;
  RecordBatch records_;
  size_t frames_ = 0;
  TimeWindow window_;
  bool opened_ = false;
};

}  // namespace

int RunReplay(const ReplayOptions& options) {
  if (const Status checked = CheckAnalysis(options.analysis); !checked) {
    Message(checked.error().message);
    return kExitUsage;
  }
  Result<Analysis> analysis = Analysis::Begin(options.analysis);
  if (!analysis) {
    Message(analysis.error().message);
    return kExitUnreadable;
  }
  auto source =
      options.via_dpdk ? OpenViaDpdk(options.captures) : OpenCaptures(options.captures.files);
  if (!source) {
    Message(source.error().message);
    return source.error().code == ErrorCode::kUnimplemented ? kExitUsage : kExitUnreadable;
  }

  Replay replay(options, *analysis);
  std::array<RawFrame, kBatchFrames> batch;
  bool damaged = false;
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
    analysis->Note("a signal ended the input: the report covers what came before");
  }
  DataplaneTotals totals;
  totals.Add(replay.processor());
  if (!analysis->Report({.dataplane = std::move(totals), .extent = replay.extent()})) {
    return kExitOutput;
  }
  const bool cut = statistics.damaged_tails > 0 && !LiveInputEndedBySignal(options.captures);
  return damaged || cut ? kExitDamaged : kExitSuccess;
}

}  // namespace rocescope
