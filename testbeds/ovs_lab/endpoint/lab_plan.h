// SPDX-License-Identifier: BSD-3-Clause
// The plan of a lab: the fabric, the jobs and the transport options. All hosts read the same file.
// README.md has the schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/emit/host_files.h"
#include "testbeds/ovs_lab/endpoint/job_plan.h"
#include "testbeds/ovs_lab/endpoint/pacer.h"
#include "testbeds/ovs_lab/endpoint/queue_pair.h"
#include "topology/fabric.h"

namespace rocescope::endpoint {

struct LabPlan {
  std::optional<topology::Fabric> fabric;  // always set after loading
  std::vector<JobPlan> jobs;
  TransportOptions transport;
  Duration connect_timeout = std::chrono::seconds(30);  // for the first answer of a peer
  RateLimit rate;
  uint64_t seed = 1;
  uint32_t start_number = 0;
  std::optional<Timestamp> begin;    // unset: when the program starts
  std::optional<Duration> duration;  // after the begin; unset: until a signal
  sim::NcclRelease nccl;
};

// IPv4 address of a NIC.
uint32_t AddressOf(const topology::Fabric& fabric, topology::NicIndex nic);

// Reads a plan and its topology, whose path is relative to the plan. Errors have the form
// "FILE:LINE:COLUMN: what is wrong, and what was expected", one per line.
Result<LabPlan> LoadLabPlan(const std::string& path);

// `text` is the plan and `fabric` its topology.
Result<LabPlan> ParseLabPlan(std::string_view text, std::string_view file, topology::Fabric fabric);

}  // namespace rocescope::endpoint
