// SPDX-License-Identifier: BSD-3-Clause
// A scenario made to happen, and a run directory of what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/fault/injector.h"
#include "sim/host/network.h"
#include "sim/scenario/scenario.h"
#include "sim/truth/recorder.h"
#include "sim/workload/job.h"
#include "sim/workload/stream.h"

namespace rocescope::sim {

class GpuReadings;
class Telemetry;

class Simulation {
 public:
  struct Output {
    std::string directory;  // made if it is not there; empty: none
    // The frames go to standard output, as they would to the box's one port; the directory, if
    // any, has the rest.
    bool stream = false;
  };
  // The scenario must outlive it. Errors name the file, or what of the scenario does not fit.
  static Result<std::unique_ptr<Simulation>> Make(const Scenario& scenario, const Output& output);
  static Result<std::unique_ptr<Simulation>> Make(Scenario&& scenario,
                                                  const Output& output) = delete;
  ~Simulation();

  // Tells, now and then, what time it is in the run.
  using Progress = std::function<void(SimTime now)>;
  // Until the scenario's end; then writes what is still to be written.
  Status Run(const Progress& progress);

  Network& network() { return *network_; }
  const Scenario& scenario() const { return scenario_; }
  const topology::Fabric& fabric() const { return fabric_; }  // as its operator has it
  const topology::Fabric& real_fabric() const { return real_; }
  const std::vector<std::unique_ptr<Job>>& jobs() const { return jobs_; }
  const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
  const Injector& injector() const { return *injector_; }
  const Recorder& recorder() const { return *recorder_; }
  const Telemetry& telemetry() const { return *telemetry_; }

 private:
  Simulation(const Scenario& scenario, topology::Fabric fabric, topology::Fabric real,
             const Output& output);
  Status Prepare();
  Status PrepareDirectory();

  const Scenario& scenario_;
  const topology::Fabric fabric_;  // the scenario's, with the taps that its telemetry asks for
  const topology::Fabric real_;    // as it is cabled: what is simulated; indexes are the same
  const Output output_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Injector> injector_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Telemetry> telemetry_;
  std::unique_ptr<GpuReadings> gpus_;
};

// The fabric with mirror sessions as planned, beside those that it has.
Result<topology::Fabric> WithTaps(const topology::Fabric& fabric,
                                  std::span<const MirrorPlan> plans);

}  // namespace rocescope::sim
