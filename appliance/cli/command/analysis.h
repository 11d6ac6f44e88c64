// SPDX-License-Identifier: BSD-3-Clause
// What replay and capture have in common: what hosts say, the engine, and the report at the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analytics/engine/engine.h"
#include "appliance/common/report/replay_report.h"
#include "base/result.h"
#include "base/time.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/pipeline/tap_registry.h"
#include "dataplane/pipeline/totals.h"
#include "dataplane/source/filter.h"

namespace rocescope {

enum class ReportFormat { kText, kJson, kHtml };  // kHtml: of replay alone

struct AnalysisOptions {
  std::vector<std::string> nccl_logs;  // files, or folders of them
  std::vector<std::string> rdma;       // output of `rdma -j resource show qp`, likewise
  std::vector<std::string> slurm;      // output of `squeue --json`, likewise
  std::string topology;                // YAML; empty: none
  FrameFilter filter;
  // Of flow records, aligned to the epoch; a run's own, or 100 ms, if not given.
  std::optional<Duration> interval;
  // Of analysis: what congestion is told by. A run's own, or 1 s, if not given.
  std::optional<Duration> window;
  double time_scale = 1;  // a second of the input stands for 1 / time_scale
  TelemetryPorts ports;
  std::optional<uint16_t> int_port;  // of INT reports, in place of what `ports` or a run says
  bool check_icrc = false;
  ReportFormat format = ReportFormat::kText;
};

// An error, of the command line, if the options cannot be.
Status CheckAnalysis(const AnalysisOptions& options);

// To standard output; false if that failed, which has been said then.
bool PrintReport(const v1::ReplayReport& report, ReportFormat format);

// For frames whose taps have these names.
FrameProcessor::Options ProcessorOptions(const AnalysisOptions& options,
                                         std::vector<std::string> captures);

class Analysis {
 public:
  // Reads what hosts left in files; the error names the one that cannot be read.
  static Result<Analysis> Begin(const AnalysisOptions& options);

  // Records of taps that this one numbers.
  void Follow(std::shared_ptr<TapRegistry> taps) { taps_ = std::move(taps); }

  void Ingest(const RecordBatch& records);

  // Event time has reached `now`.
  void Advance(Timestamp now) { engine_.Advance(now); }

  // A sentence for the report, and now on standard error.
  void Note(std::string note);
  // For the report alone.
  void NoteQuietly(std::string note) { notes_.push_back(std::move(note)); }

  // What `options.topology` said; null without.
  const topology::Fabric* fabric() const { return fabric_.get(); }

  // All that is known by now.
  std::shared_ptr<const Snapshot> Publish() { return engine_.Publish(); }
  Duration window() const { return window_; }

  // `findings` need no snapshot and no notes.
  struct Seen {
    DataplaneTotals dataplane;
    CaptureExtent extent;
    std::vector<PortFindings> ports;
    LcoreFindings lcores;
    CounterFindings counters;
  };
  // Lives in `arena`.
  const v1::ReplayReport& Build(const Seen& seen, google::protobuf::Arena& arena);
  // The same, printed to standard output; false if that failed, which has been said then.
  bool Report(const Seen& seen);

 private:
  explicit Analysis(const AnalysisOptions& options);

  ReportFormat format_;
  Duration window_;
  std::shared_ptr<const topology::Fabric> fabric_;
  Engine engine_;
  std::shared_ptr<TapRegistry> taps_;
  size_t taps_learnt_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace rocescope
