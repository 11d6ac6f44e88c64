// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/analysis.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/config/duration.h"
#include "appliance/common/files/host_files.h"
#include "appliance/common/files/text_file.h"
#include "appliance/common/process/memory.h"
#include "appliance/common/report/counter_notes.h"
#include "appliance/common/report/traffic_notes.h"
#include "rocescope/v1/report.pb.h"
#include "topology/yaml.h"

namespace rocescope {
namespace {

constexpr Duration kDefaultInterval = std::chrono::milliseconds(100);

}  // namespace

Status CheckAnalysis(const AnalysisOptions& options) {
  const Duration interval = options.interval.value_or(kDefaultInterval);
  if (interval > FlowTable::kMaximumInterval || interval < std::chrono::milliseconds(1)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("--interval {}: must be from 1 ms to 4 s", FormatDuration(interval)));
  }
  if (options.window &&
      (*options.window < std::chrono::microseconds(1) || *options.window > std::chrono::hours(1))) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("--window {}: must be from 1 us to 1 h", FormatDuration(*options.window)));
  }
  constexpr uint64_t kLeastMemory = uint64_t{256} << 20;
  if (options.memory < kLeastMemory) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--memory {}: must be at least {}", FormatBytes(options.memory),
                                 FormatBytes(kLeastMemory)));
  }
  return {};
}

// Measured with one and two million flows of one packet, without a topology: 3.4 to 4.2 kB each in
// all tables and in the report. KeepWithinMemory accounts for flows that take more.
uint32_t FlowsIn(uint64_t memory) {
  constexpr uint64_t kFixed = 100'000'000;
  constexpr uint64_t kBytesAFlow = 4'400;
  return static_cast<uint32_t>(
      std::min<uint64_t>(kFlowCapacity, (memory - std::min(memory, kFixed)) / kBytesAFlow + 1));
}

FrameProcessor::Options ProcessorOptions(const AnalysisOptions& options,
                                         std::vector<std::string> captures) {
  FrameProcessor::Options result;
  result.flow_table.interval = options.interval.value_or(kDefaultInterval);
  result.flow_table.capacity = FlowsIn(options.memory);
  // Packet budget of the detailed analysis for each second of run time.
  ObservationBudget::Options& sightings = result.flow_table.sightings;
  constexpr double kMost = 1u << 24;
  const double factor = 1 / std::clamp(options.time_scale, 1e-3, 1.0);
  for (uint32_t* budget : {&sightings.chosen_per_interval, &sightings.always_per_interval}) {
    *budget = static_cast<uint32_t>(std::min(*budget * factor, kMost));
  }
  result.ports = options.ports;
  result.ports.int_reports = options.int_port.value_or(options.ports.int_reports);
  result.filter = options.filter;
  result.check_icrc = options.check_icrc;
  result.captures = std::move(captures);
  return result;
}

Result<Analysis> Analysis::Begin(const AnalysisOptions& options) {
  Result<HostFiles> hosts = ReadHostFiles(
      {.nccl_logs = options.nccl_logs, .rdma = options.rdma, .slurm = options.slurm}, Pipes::kRead);
  if (!hosts) return tl::unexpected(hosts.error());
  std::shared_ptr<const topology::Fabric> fabric;
  if (!options.topology.empty()) {
    constexpr uintmax_t kLargest = uintmax_t{1} << 30;
    const Result<std::string> text = ReadTextFile(options.topology, kLargest, Pipes::kRead);
    if (!text) return tl::unexpected(text.error());
    Result<topology::Fabric> loaded = topology::LoadFabric(*text, options.topology);
    if (!loaded) return tl::unexpected(loaded.error());
    fabric = std::make_shared<const topology::Fabric>(*std::move(loaded));
  }
  Analysis analysis(options, std::move(fabric));
  analysis.engine_->SetHostFacts(std::move(hosts->facts));
  analysis.notes_ = std::move(hosts->notes);
  return analysis;
}

// Connections found at the beginning of a capture stay valid until its end.
Analysis::Analysis(const AnalysisOptions& options, std::shared_ptr<const topology::Fabric> fabric)
    : options_(options),
      window_(options.window.value_or(std::chrono::seconds(1))),
      fabric_(std::move(fabric)),
      engine_(
          std::make_unique<Engine>(EngineOptions{.flows = FlowsIn(options.memory),
                                                 .connections = {.forget_after = Duration::max()},
                                                 .window = window_},
                                   fabric_)) {}

void Analysis::Ingest(const RecordBatch& records) {
  if (taps_ && taps_->count() > taps_learnt_) {
    for (const TapLocation& place : taps_->PlacesFrom(taps_learnt_)) {
      engine_->LearnTap(place);
      taps_learnt_ = size_t{place.tap} + 1;
    }
  }
  engine_->Ingest(records);
}

void Analysis::KeepWithinMemory(uint64_t dataplane_bytes) {
  // The report takes about two thirds as much again for each flow.
  constexpr double kForFlows = 0.5;
  const auto used = static_cast<double>(HeapBytes() + dataplane_bytes);
  if (is_full_ || used < kForFlows * static_cast<double>(options_.memory)) return;
  is_full_ = true;
  engine_->SetFlowCapacity(engine_->flows());
}

void Analysis::NoteOnMemory(const RefusedRecords& refused) {
  if (refused.flows == 0 && refused.flows_replaced == 0) return;
  const bool can_grow = FlowsIn(options_.memory) < kFlowCapacity || is_full_;
  Note(fmt::format(
      "the maximum of {} flows for the memory budget of {} was reached: {} records of "
      "further flows were not analysed, and {} idle flows were replaced by new ones; "
      "{}replay a shorter part of the capture",
      WithThousands(engine_->flows()), FormatBytes(options_.memory), WithThousands(refused.flows),
      WithThousands(refused.flows_replaced), can_grow ? "increase --memory, or " : ""));
}

void Analysis::Note(std::string note) {
  Message(note);
  notes_.push_back(std::move(note));
}

const v1::ReplayReport& Analysis::Build(const Seen& seen, google::protobuf::Arena& arena) {
  const std::shared_ptr<const Snapshot> snapshot = engine_->Publish();
  NoteOnMemory(snapshot->refused);
  std::vector<std::string> notes = notes_;
  for (std::string& note : NotesOnTraffic(*snapshot, seen.dataplane.taps)) {
    notes.push_back(std::move(note));
  }
  for (std::string& note :
       NotesOnCounters(snapshot->reading_problem, *snapshot->diagnosis_coverage)) {
    notes.push_back(std::move(note));
  }
  return BuildReplayReport({.dataplane = seen.dataplane,
                            .snapshot = *snapshot,
                            .extent = seen.extent,
                            .ports = seen.ports,
                            .lcores = seen.lcores,
                            .counters = seen.counters,
                            .notes = std::move(notes)},
                           arena);
}

bool PrintReport(const v1::ReplayReport& report, const AnalysisOptions& options) {
  if (options.format == ReportFormat::kJson) {
    OutputState state = OutputState::kOpen;
    RenderJson(report, [&](std::string_view piece) {
      state = WriteToStdout(piece);
      return state == OutputState::kOpen;
    });
    return state != OutputState::kFailed;
  }
  const auto text = [&] {
    const size_t width = TextWidth();
    if (!options.sections.empty()) return RenderSections(report, options.sections, width);
    return options.details ? RenderText(report, width) : RenderBriefText(report, width);
  };
  return WriteToStdout(text()) != OutputState::kFailed;
}

bool Analysis::Report(const Seen& seen) {
  google::protobuf::Arena
      arena;  // a report of many flows consists of tens of thousands of messages
  return PrintReport(Build(seen, arena), options_);
}

}  // namespace rocescope
