// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/flow_run.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "dataplane/run/manifest.h"
#include "sim/emit/former_run.h"
#include "sim/emit/output_file.h"
#include "sim/flow/flow_counters.h"
#include "sim/flow/flow_model.h"
#include "sim/flow/flow_sflow.h"
#include "sim/flow/history_file.h"
#include "sim/profile/collect.h"
#include "sim/recording/input_file.h"
#include "sim/recording/recording_identity.h"
#include "sim/run/host_logs.h"
#include "sim/run/run_directory.h"
#include "sim/run/victims.h"
#include "sim/run/write_truth.h"

namespace rocescope::sim {
namespace {

VictimStudy::RunWithout FlowRunWithout(const Scenario& scenario) {
  return [&scenario](size_t fault, SimTime from, SimTime until) -> Result<std::vector<JobWork>> {
    auto model = FlowModel::Make(scenario, fault);
    if (!model) return tl::unexpected(model.error());
    (*model)->Run({}, until);
    const Outcome outcome = (*model)->TakeOutcome();
    return WorkIn((*model)->simulation(), outcome.starts, from, until,
                  (*model)->RetransmittedNow());
  };
}

// Reads nothing; only for checks before the run.
class NoCounters final : public ExactCounters {
 public:
  NoCounters(const FlowModel& model, Timestamp begin, Duration length)
      : entities_(model.Entities()), begin_(begin), length_(length) {}
  std::span<const Entity> entities() const override { return entities_; }
  Timestamp begin() const override { return begin_; }
  Timestamp end() const override { return begin_ + length_; }
  std::vector<Outage> OutagesOf(uint32_t) const override { return {}; }
  bool Read(uint32_t, Timestamp, Timestamp, std::span<uint64_t>) override { return false; }

 private:
  const std::vector<Entity> entities_;
  const Timestamp begin_;
  const Duration length_;
};

class FlowRun {
 public:
  FlowRun(const Scenario& scenario, const FlowRunOptions& options, const FlowRunProgress& progress)
      : scenario_(scenario), options_(options), progress_(progress) {}

  Result<FlowRunReport> Run();

 private:
  Status Prepare();
  Status Simulate();
  Status WriteCounters();
  Status WriteManifest();
  Status FindVictims();

  const Scenario& scenario_;
  const FlowRunOptions& options_;
  const FlowRunProgress& progress_;
  std::unique_ptr<FlowModel> model_;
  std::shared_ptr<StoredHistory> history_ = std::make_shared<StoredHistory>();
  std::optional<VictimStudy> study_;
  std::optional<topology::Fabric> fabric_;
  v1::Truth truth_;
  std::string connections_;
  FlowRunReport report_;
};

Status FlowRun::Prepare() {
  auto model = FlowModel::Make(scenario_);
  if (!model) return tl::unexpected(model.error());
  model_ = *std::move(model);
  const NoCounters counters(*model_, scenario_.epoch, Duration(scenario_.duration / kNanosecond));
  Status fits = CheckProfile(counters, options_.profile, {.overrides = options_.overrides});
  if (!fits) return fits;
  return PrepareRunDirectory(scenario_, model_->simulation().fabric(), options_.directory);
}

Status FlowRun::Simulate() {
  model_->Run(progress_.run);
  Outcome outcome = model_->TakeOutcome();
  report_.frames = outcome.frames.sent;
  report_.faults = outcome.faults;
  truth_ = TruthOf(model_->simulation(), outcome, &connections_);
  truth_.set_congested_unknown(true);
  if (options_.victims && !scenario_.faults.empty()) {
    study_.emplace(model_->simulation(), outcome);
  }
  if (Status written = WriteHostLogs(model_->simulation(), outcome, options_.directory); !written) {
    return written;
  }
  history_->history = model_->TakeHistory();
  history_->epoch = scenario_.epoch;
  fabric_ = model_->simulation().fabric();
  if (scenario_.telemetry.sflow_rate > 0) {
    auto written = WriteFlowSflow(*model_, history_->history, options_.directory + "/sflow.pcap");
    if (!written) return tl::unexpected(written.error());
    report_.sflow = *written;
  }
  model_.reset();  // it takes as much memory as the history
  return {};
}

Status FlowRun::WriteCounters() {
  const OpenExactCounters open = [this]() -> Result<std::shared_ptr<ExactCounters>> {
    return std::make_shared<FlowCounters>(history_->history, history_->epoch, history_);
  };
  auto collected = CollectCounters(
      {.profile = options_.profile, .overrides = options_.overrides, .seed = scenario_.seed},
      *fabric_, open, options_.directory + "/counters.columns", truth_);
  if (!collected) return tl::unexpected(collected.error());
  report_.counters = *std::move(collected);
  if (!options_.record) return {};
  const std::string path = options_.directory + "/" + kHistoryFile;
  std::error_code ignored;  // the file cannot be opened then
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  Status written = WriteHistory(history_->history, history_->epoch, path);
  if (!written) return written;
  return WriteIdentity(options_.directory, kHistoryFile, ManifestOf(scenario_, *fabric_, false));
}

Status FlowRun::FindVictims() {
  history_.reset();  // no longer needed
  if (!study_) return {};
  return study_->Run(FlowRunWithout(scenario_), progress_.victims, truth_);
}

// A directory without run.json is not a run, so it is last but the truth.
Status FlowRun::WriteManifest() {
  RunManifest manifest = ManifestOf(scenario_, *fabric_, false);
  manifest.counter_period = PollPeriod(options_.profile);
  manifest.telemetry.mirror = false;
  manifest.telemetry.int_reports = false;
  manifest.telemetry.counters = true;
  return FinishRun(options_.directory, manifest);
}

Result<FlowRunReport> FlowRun::Run() {
  for (Status (FlowRun::*step)() : {&FlowRun::Prepare, &FlowRun::Simulate, &FlowRun::WriteCounters,
                                    &FlowRun::WriteManifest, &FlowRun::FindVictims}) {
    if (Status done = (this->*step)(); !done) return tl::unexpected(done.error());
  }
  if (Status written =
          WriteFile(options_.directory + "/truth.json", RenderTruth(truth_, connections_));
      !written) {
    return tl::unexpected(written.error());
  }
  return std::move(report_);
}

}  // namespace

Result<FlowRunReport> RunFlowModel(const Scenario& scenario, const FlowRunOptions& options,
                                   const FlowRunProgress& progress) {
  return FlowRun(scenario, options, progress).Run();
}

OpenRecording HistoryOpener() {
  return [stored = std::shared_ptr<const StoredHistory>()](
             const std::string& directory,
             const topology::Fabric& fabric) mutable -> Result<std::shared_ptr<ExactCounters>> {
    if (stored == nullptr) {
      const std::string path = directory + "/" + kHistoryFile;
      const Status readable = CheckInputFile(path, kNoRecording);
      if (!readable) return tl::unexpected(readable.error());
      auto read = ReadHistory(path, fabric);
      if (!read) return tl::unexpected(read.error());
      stored = *std::move(read);
    }
    return std::make_shared<FlowCounters>(stored->history, stored->epoch, stored);
  };
}

}  // namespace rocescope::sim
