// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dataplane/run/manifest.h"
#include "sim/emit/former_run.h"
#include "sim/emit/output_file.h"
#include "sim/fault/cables.h"
#include "sim/recording/recording_identity.h"
#include "sim/run/gpu_readings.h"
#include "sim/run/host_logs.h"
#include "sim/run/outcome.h"
#include "sim/run/run_directory.h"
#include "sim/run/telemetry.h"
#include "sim/run/write_truth.h"

namespace rocescope::sim {
namespace {

constexpr int kProgressSteps = 200;

SimTime Scaled(SimTime time, double scale) {
  return static_cast<SimTime>(static_cast<double>(time) * scale);
}

}  // namespace

Simulation::Simulation(const Scenario& scenario, topology::Fabric fabric, topology::Fabric real,
                       const Output& output)
    : scenario_(scenario), fabric_(std::move(fabric)), real_(std::move(real)), output_(output) {}

Simulation::~Simulation() {
  if (network_) network_->engine().Clear();  // scheduled events refer to the other members
}

Result<std::unique_ptr<Simulation>> Simulation::Make(const Scenario& scenario,
                                                     const Output& output) {
  auto fabric = WithTaps(*scenario.fabric, scenario.telemetry.mirrors);
  if (!fabric) return tl::unexpected(fabric.error());
  Result<topology::Fabric> real = *fabric;
  for (size_t i = 0; i < scenario.faults.size(); ++i) {
    const FaultOptions& fault = scenario.faults[i];
    if (output.without_fault == i) continue;
    if (fault.kind == FaultKind::kSwappedCables) real = SwapCables(*real, fault.swapped);
    if (!real) return tl::unexpected(real.error());
  }
  std::unique_ptr<Simulation> simulation(
      new Simulation(scenario, *std::move(fabric), *std::move(real), output));
  if (Status prepared = simulation->Prepare(); !prepared) {
    return tl::unexpected(prepared.error());
  }
  return simulation;
}

Status Simulation::Prepare() {
  NetworkOptions options = scenario_.network;
  options.nics.ack_timeout = Scaled(options.nics.ack_timeout, scenario_.time_scale);
  WatchdogOptions& watchdog = options.switches.watchdog;
  watchdog.detection = Scaled(watchdog.detection, scenario_.time_scale);
  watchdog.restoration = Scaled(watchdog.restoration, scenario_.time_scale);
  network_ = std::make_unique<Network>(real_, options);
  if (Status made = PrepareJobs(); !made) return made;
  for (const Stream::Options& stream : scenario_.streams) {
    streams_.push_back(std::make_unique<Stream>(*network_, stream));
  }
  if (Status added = PrepareFaults(); !added) return added;
  for (TcpFlow::Options flow : scenario_.foreign) {
    flow.retransmission_timeout = Scaled(flow.retransmission_timeout, scenario_.time_scale);
    foreign_.push_back(std::make_unique<TcpFlow>(*network_, flow));
  }
  benign_ = std::make_unique<BenignLife>(*network_, injector_->outages(), injector_->wire_faults(),
                                         BenignLife::Options{.benign = scenario_.benign,
                                                             .maintenance = scenario_.maintenance,
                                                             .end = scenario_.duration,
                                                             .seed = scenario_.seed});
  recorder_ = std::make_unique<Recorder>(*network_, options.switches.ecn.minimum);
  if (!output_.directory.empty()) {
    if (Status prepared = PrepareDirectory(); !prepared) return prepared;
  }
  auto telemetry = Telemetry::Make(scenario_, *network_, output_);
  if (!telemetry) return tl::unexpected(telemetry.error());
  telemetry_ = *std::move(telemetry);
  return {};
}

Status Simulation::AddJob(const JobOptions& options, size_t scenario_job) {
  auto made = Job::Make(*network_, options);
  if (!made) return tl::unexpected(made.error());
  jobs_.push_back(*std::move(made));
  scenario_job_.push_back(scenario_job);
  return {};
}

// All first starts come first, so that their queue pairs do not depend on restarts.
Status Simulation::PrepareJobs() {
  size_t most = 1;  // starts of a job
  for (const JobOptions& job : scenario_.jobs) most = std::max(most, job.restarts.size() + 1);
  for (uint32_t start = 0; start < most; ++start) {
    for (size_t i = 0; i < scenario_.jobs.size(); ++i) {
      JobOptions job = scenario_.jobs[i];
      if (start > job.restarts.size()) continue;
      if (start > 0) {
        const JobOptions::Restart& last = job.restarts[start - 1];
        job.start = last.at + last.downtime;
        job.seed = HashCombine(job.seed, start);
      }
      if (start < job.restarts.size()) job.end = job.restarts[start].at;
      job.incarnation = start;
      if (scenario_.benign.gpu_clock_spread > 0) {
        for (const topology::GpuIndex gpu : job.gpus) {
          job.paces.push_back(GpuPace(scenario_.seed, gpu, scenario_.benign.gpu_clock_spread));
        }
      }
      if (Status added = AddJob(job, i); !added) return added;
    }
  }
  return {};
}

Status Simulation::PrepareFaults() {
  std::vector<Job*> jobs;
  for (const auto& job : jobs_) jobs.push_back(job.get());
  injector_ = std::make_unique<Injector>(
      *network_, jobs,
      Injector::Options{.reroute_delay = Scaled(scenario_.reroute_delay, scenario_.time_scale),
                        .end = scenario_.duration,
                        .seed = scenario_.seed});
  for (size_t i = 0; i < scenario_.faults.size(); ++i) {
    const bool active = output_.without_fault != i;
    if (Status added = injector_->Add(scenario_.faults[i], active); !added) return added;
  }
  return {};
}

std::vector<size_t> Simulation::StartsOf(size_t scenario_job) const {
  std::vector<size_t> starts;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (scenario_job_[i] == scenario_job) starts.push_back(i);
  }
  return starts;
}

std::vector<uint64_t> Simulation::RetransmittedNow() const {
  std::vector<uint64_t> frames(scenario_.jobs.size());
  for (size_t i = 0; i < jobs_.size(); ++i) {
    frames[scenario_job_[i]] += jobs_[i]->frames_retransmitted();
  }
  return frames;
}

SimTime UntilOfVictims(const Scenario& scenario, const FaultOptions& fault) {
  // A sender notices a loss at the end of a message after one timeout, and a second loss after
  // another one. An iteration is complete some time later.
  constexpr SimTime kLeastMargin = kMillisecond;
  const SimTime margin =
      std::max(kLeastMargin, 2 * Scaled(scenario.network.nics.ack_timeout, scenario.time_scale));
  const SimTime end = EndOf(fault);
  return end >= scenario.duration - std::min(margin, scenario.duration) ? scenario.duration
                                                                        : end + margin;
}

Status Simulation::PrepareDirectory() {
  Status prepared = PrepareRunDirectory(scenario_, fabric_, output_.directory);
  if (!prepared) return prepared;
  return FinishRun(output_.directory, ManifestOf(scenario_, fabric_, output_.stream));
}

Status Simulation::Run(const Progress& progress, SimTime until) {
  const SimTime end = std::min(scenario_.duration, until);
  // The truth of a stream without a directory is not written, and a stream can last for days.
  const bool only_streams = output_.stream && output_.directory.empty();
  if (!output_.without_fault && !only_streams) {
    recorder_->Start();
    retransmitted_.resize(scenario_.faults.size());
    for (size_t i = 0; i < scenario_.faults.size(); ++i) {
      const SimTime counted = UntilOfVictims(scenario_, scenario_.faults[i]);
      if (counted >= scenario_.duration) continue;
      network_->engine().At(counted, [this, i] { retransmitted_[i] = RetransmittedNow(); });
    }
  }
  if (telemetry_->counters() != nullptr) {
    gpus_ = std::make_unique<GpuReadings>(*network_, jobs_, scenario_.maintenance,
                                          *telemetry_->counters());
  }
  if (telemetry_->recording() != nullptr) {
    recorded_gpus_ = std::make_unique<GpuReadings>(*network_, jobs_, scenario_.maintenance,
                                                   *telemetry_->recording(),
                                                   scenario_.telemetry.recording_steps);
  }
  telemetry_->Start();
  for (const auto& job : jobs_) job->Start();
  for (const auto& stream : streams_) stream->Begin();
  for (const auto& flow : foreign_) flow->Begin();
  benign_->Start();
  for (int step = 1; step <= kProgressSteps; ++step) {
    network_->engine().Run(step == kProgressSteps ? end : end / kProgressSteps * step);
    if (progress) progress(network_->engine().Now());
  }
  if (output_.without_fault) return {};
  injector_->Finish();
  if (only_streams) return telemetry_->Finish();
  recorder_->Finish();
  for (std::vector<uint64_t>& frames : retransmitted_) {
    if (frames.empty()) frames = RetransmittedNow();
  }
  if (Status finished = telemetry_->Finish(); !finished) return finished;
  if (output_.directory.empty()) return {};
  if (telemetry_->recording() != nullptr) {
    Status written = WriteIdentity(output_.directory, kRecordingFile,
                                   ManifestOf(scenario_, fabric_, output_.stream));
    if (!written) return written;
  }
  const Outcome outcome = OutcomeOf(*this);
  if (Status written = WriteHostLogs(*this, outcome, output_.directory); !written) return written;
  return WriteFile(output_.directory + "/truth.json", RenderTruth(TruthOf(*this, outcome)));
}

}  // namespace rocescope::sim
