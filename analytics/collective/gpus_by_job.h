// SPDX-License-Identifier: BSD-3-Clause
// Assigns GPUs to jobs.
#pragma once

#include <vector>

#include "analytics/collective/collective.h"
#include "analytics/job/attribution.h"
#include "topology/fabric.h"

namespace rocescope {

// Returns the GPU that uses the NIC: as declared in the topology, otherwise the GPU of the NIC's
// rail; kNone: neither.
topology::GpuIndex GpuNextTo(const topology::Fabric& fabric, topology::NicIndex nic);

// Returns the GPUs of each job in the attribution: those that its ranks report, otherwise those
// next to the participating NICs. A GPU is listed once, for the first job that has it.
std::vector<std::vector<topology::GpuIndex>> GpusByJob(
    const topology::Fabric& fabric, const Attribution& attribution,
    const std::vector<JobIterationPattern>& iteration_patterns);

}  // namespace rocescope
