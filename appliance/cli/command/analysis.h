// SPDX-License-Identifier: BSD-3-Clause
// The common part of replay and capture: host files, the engine, and the report at the end.
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

// Memory budget of a replay without --memory, in bytes.
inline constexpr uint64_t kDefaultMemory = uint64_t{4} << 30;

enum class ReportFormat { kText, kJson, kHtml };  // kHtml: replay only

struct AnalysisOptions {
  std::vector<std::string> nccl_logs;  // files or directories
  std::vector<std::string> rdma;       // output of `rdma -j resource show qp`: files or directories
  std::vector<std::string> slurm;      // output of `squeue --json`: files or directories
  std::string topology;                // YAML; empty: none
  FrameFilter filter;
  // Interval of a flow record, aligned to the epoch. Default: that of the run, or 100 ms.
  std::optional<Duration> interval;
  // Analysis window for the diagnosis. Default: that of the run, or 1 s.
  std::optional<Duration> window;
  double time_scale = 1;  // one second of input corresponds to 1 / time_scale seconds
  TelemetryPorts ports;
  std::optional<uint16_t> int_port;  // UDP port of INT reports, overrides `ports` and the run
  bool check_icrc = false;
  uint64_t memory = kDefaultMemory;  // bytes: flows that do not fit are not analysed
  ReportFormat format = ReportFormat::kText;
  bool details = false;               // text: the complete report
  std::vector<std::string> sections;  // text: only these sections (SectionNames)
};

// Returns a usage error if the options are invalid.
Status CheckAnalysis(const AnalysisOptions& options);

// Prints to standard output. Returns false if that fails, after a message.
bool PrintReport(const v1::ReplayReport& report, const AnalysisOptions& options);

// The number of flows that fit into the memory budget.
uint32_t FlowsIn(uint64_t memory);

// Options for frames whose taps have these names.
FrameProcessor::Options ProcessorOptions(const AnalysisOptions& options,
                                         std::vector<std::string> captures);

class Analysis {
 public:
  // Reads the host files. The error names the file that cannot be read.
  static Result<Analysis> Begin(const AnalysisOptions& options);

  // Ingests records of taps that are numbered by `taps`.
  void Follow(std::shared_ptr<TapRegistry> taps) { taps_ = std::move(taps); }

  void Ingest(const RecordBatch& records);

  // Advances the event time to `now`.
  void Advance(Timestamp now) { engine_->Advance(now); }

  // Adds a note to the report and prints it to standard error.
  void Note(std::string note);
  // Adds a note to the report only.
  void NoteQuietly(std::string note) { notes_.push_back(std::move(note)); }

  // Limits the number of flows to the present one when half of the memory budget is used. Call it
  // every few thousand frames, with the size of the flow table. Depends on the input only.
  void KeepWithinMemory(uint64_t dataplane_bytes);

  // The fabric of `options.topology`, or null.
  const topology::Fabric* fabric() const { return fabric_.get(); }

  // Returns a snapshot of the current state.
  std::shared_ptr<const Snapshot> Publish() { return engine_->Publish(); }
  Duration window() const { return window_; }

  // Input of BuildReplayReport, except for the snapshot and the notes.
  struct Seen {
    DataplaneTotals dataplane;
    CaptureExtent extent;
    std::vector<PortFindings> ports;
    LcoreFindings lcores;
    CounterFindings counters;
  };
  // Returns a report that is allocated in `arena`.
  const v1::ReplayReport& Build(const Seen& seen, google::protobuf::Arena& arena);
  // Builds the report and prints it to standard output. Returns false if that fails, after a
  // message.
  bool Report(const Seen& seen);

 private:
  Analysis(const AnalysisOptions& options, std::shared_ptr<const topology::Fabric> fabric);

  void NoteOnMemory(const RefusedRecords& refused);

  AnalysisOptions options_;
  Duration window_;
  std::shared_ptr<const topology::Fabric> fabric_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<TapRegistry> taps_;
  size_t taps_learnt_ = 0;
  std::vector<std::string> notes_;
  bool is_full_ = false;  // the memory budget is used
};

}  // namespace rocescope
