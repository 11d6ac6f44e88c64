// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs work for a job.
#pragma once

#include <vector>

#include "analytics/collective/collective.h"
#include "analytics/job/attribution.h"
#include "topology/fabric.h"

namespace rocescope {

// The one that talks by the NIC: as the topology says, else that of its rail; kNone: neither.
topology::GpuIndex GpuNextTo(const topology::Fabric& fabric, topology::NicIndex nic);

// By job of the attribution: what its ranks say of theirs; where nobody says so, those next to the
// NICs that take part. A GPU is in one list, of the first job that has it.
std::vector<std::vector<topology::GpuIndex>> GpusByJob(const topology::Fabric& fabric,
                                                       const Attribution& attribution,
                                                       const std::vector<JobIterationPattern>& iteration_patterns);

}  // namespace rocescope
