// SPDX-License-Identifier: BSD-3-Clause
// Logs of hosts and the scheduler: converts the jobs of a simulation to the plain values that
// emit/host_files.h writes.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rocescope::sim {

class Job;
class Simulation;
struct Outcome;

// Returns the process id of the job's process on a GPU. Each start of a job has others.
uint32_t ProcessOf(const Job& job, uint32_t gpu_number);

// Writes nccl/, rdma/ and slurm.json as configured in the scenario's telemetry. slurm.json has the
// states at the end of the run. The directory must exist.
Status WriteHostLogs(Simulation& simulation, const Outcome& outcome, const std::string& directory);

}  // namespace rocescope::sim
