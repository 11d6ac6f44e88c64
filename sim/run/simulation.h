// SPDX-License-Identifier: BSD-3-Clause
// Runs a scenario and writes its run directory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/benign/benign_life.h"
#include "sim/fault/injector.h"
#include "sim/host/network.h"
#include "sim/scenario/scenario.h"
#include "sim/truth/recorder.h"
#include "sim/workload/job.h"
#include "sim/workload/stream.h"
#include "sim/workload/tcp_flow.h"

namespace rocescope::sim {

class GpuReadings;
class Telemetry;

class Simulation {
 public:
  struct Output {
    std::string directory;  // created if it does not exist; empty: none
    // Frames go to standard output, as they would arrive at the collector port. The directory, if
    // any, contains the other files.
    bool stream = false;
    // Counters go to this file or named pipe. Empty: to counters.jsonl in the directory, if any.
    std::string counters;
    // Index in Scenario::faults: the same run without this fault. Until the fault's onset, both
    // runs are the same. Nothing is recorded.
    std::optional<size_t> without_fault;
  };
  // The scenario must outlive this object. An error names the file, or the part of the scenario
  // that is invalid.
  static Result<std::unique_ptr<Simulation>> Make(const Scenario& scenario, const Output& output);
  static Result<std::unique_ptr<Simulation>> Make(Scenario&& scenario,
                                                  const Output& output) = delete;
  ~Simulation();

  // Called from time to time with the current simulated time.
  using Progress = std::function<void(SimTime now)>;
  // Runs until the scenario's end or until `until`, then writes the remaining output. truth.json
  // does not contain the victims of faults yet (victims.h).
  Status Run(const Progress& progress, SimTime until = kNever);

  Network& network() { return *network_; }
  const Scenario& scenario() const { return scenario_; }
  const topology::Fabric& fabric() const { return fabric_; }  // the declared fabric
  const topology::Fabric& real_fabric() const { return real_; }
  // The jobs of the scenario in its order, then their restarts: each start is one Job.
  const std::vector<std::unique_ptr<Job>>& jobs() const { return jobs_; }
  size_t ScenarioJobOf(size_t job) const { return scenario_job_[job]; }
  // Indices in jobs() of the starts of a job of the scenario, in order.
  std::vector<size_t> StartsOf(size_t scenario_job) const;
  const std::vector<std::unique_ptr<TcpFlow>>& foreign() const { return foreign_; }
  const BenignLife& benign() const { return *benign_; }
  // Frames that the jobs retransmitted before UntilOfVictims of each fault; indexed by fault, then
  // by job of the scenario.
  const std::vector<std::vector<uint64_t>>& retransmitted() const { return retransmitted_; }
  std::vector<uint64_t> RetransmittedNow() const;  // by job of the scenario
  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
  const Injector& injector() const { return *injector_; }
  const Recorder& recorder() const { return *recorder_; }
  const Telemetry& telemetry() const { return *telemetry_; }

 private:
  Simulation(const Scenario& scenario, topology::Fabric fabric, topology::Fabric real,
             const Output& output);
  Status Prepare();
  Status PrepareJobs();
  Status PrepareFaults();
  Status AddJob(const JobOptions& options, size_t scenario_job);
  Status PrepareDirectory();

  const Scenario& scenario_;
  // Declared: the scenario's fabric with the mirror sessions of its telemetry.
  const topology::Fabric fabric_;
  const topology::Fabric real_;  // as actually cabled and simulated; same indices as fabric_
  const Output output_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<size_t> scenario_job_;  // by index in jobs_
  std::vector<std::vector<uint64_t>> retransmitted_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Injector> injector_;
  std::vector<std::unique_ptr<TcpFlow>> foreign_;
  std::unique_ptr<BenignLife> benign_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Telemetry> telemetry_;
  std::unique_ptr<GpuReadings> gpus_;
  std::unique_ptr<GpuReadings> recorded_gpus_;
};

// The time until which a fault's effect on jobs counts: its end and the time in which jobs recover,
// or the end of the run.
SimTime UntilOfVictims(const Scenario& scenario, const FaultOptions& fault);

// Returns the fabric with the planned mirror sessions in addition to its own.
Result<topology::Fabric> WithTaps(const topology::Fabric& fabric,
                                  std::span<const MirrorPlan> plans);

}  // namespace rocescope::sim
