// SPDX-License-Identifier: BSD-3-Clause
// What the hosts and the scheduler of a simulation would have said: from its jobs to the plain
// values that emit/host_files.h writes.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace rocescope::sim {

class Simulation;

// The process of a job that uses a GPU of a host.
uint32_t ProcessOf(uint64_t job_id, uint32_t gpu_number);

// nccl/, rdma/ and slurm.json, as the scenario's telemetry asks for them. The directory exists.
Status WriteHostLogs(Simulation& simulation, const std::string& directory);

}  // namespace rocescope::sim
