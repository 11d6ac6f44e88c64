// SPDX-License-Identifier: BSD-3-Clause
// The logs of the jobs of a host: NCCL logs and `rdma resource show qp`, in the formats of
// sim/emit/host_files.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/emit/host_files.h"
#include "testbeds/ovs_lab/endpoint/job.h"
#include "testbeds/ovs_lab/endpoint/lab_plan.h"

namespace rocescope::endpoint {

sim::LoggedJob Describe(const LabPlan& plan, const JobPlan& job, Timestamp start);

// Returns the logs of the job's processes on a host, one after the other.
std::string RenderNcclLogs(const LabPlan& plan, const sim::LoggedJob& job,
                           topology::NodeIndex host);

// Returns the warning that a process writes when a work request fails.
std::string RenderNcclFailure(const LabPlan& plan, const JobPlan& job, const sim::LoggedJob& logged,
                              const JobFailure& failure);

}  // namespace rocescope::endpoint
