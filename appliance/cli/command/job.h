// SPDX-License-Identifier: BSD-3-Clause
// `rocescope job`: registers jobs of a scheduler at a running appliance, and queries them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "appliance/cli/command/analysis.h"
#include "appliance/daemon/grpc/jobs_client.h"
#include "dataplane/host/allocation.h"

namespace rocescope {

// All functions return an ExitCode: kExitDamaged if the appliance refuses the request or does not
// know the job, kExitUsage if a TLS file is not usable, kExitUnreadable if the appliance does not
// answer in time.

struct JobRegisterOptions {
  JobsClientOptions client;
  uint64_t id = 0;
  std::vector<AllocatedNode> nodes;
  std::string name;
  std::string user;
  uint64_t start_seconds = 0;  // since the epoch, at most kLatestTime; 0: now
  uint64_t limit_seconds = 0;  // since the epoch; 0: unknown
};
int RunJobRegister(const JobRegisterOptions& options);

struct JobEndOptions {
  JobsClientOptions client;
  uint64_t id = 0;
  uint64_t end_seconds = 0;  // since the epoch; 0: now
};
int RunJobEnd(const JobEndOptions& options);

struct JobListOptions {
  JobsClientOptions client;
  bool ended_too = false;
  ReportFormat format = ReportFormat::kText;
};
// JSON: a ListRegisteredJobsResponse.
int RunJobList(const JobListOptions& options);

struct JobShowOptions {
  JobsClientOptions client;
  uint64_t id = 0;
  ReportFormat format = ReportFormat::kText;
};
// JSON: an object with `registered` (a RegisteredJob) and, if packets of the job were observed,
// `summary` (a JobSummary).
int RunJobShow(const JobShowOptions& options);

struct JobPlaceOptions {
  JobsClientOptions client;
  uint32_t nodes = 0;  // exclusive with `gpus`
  uint32_t gpus = 0;
  uint32_t gpus_per_node = 0;
  std::vector<std::string> candidates;  // host lists
  std::vector<std::string> exclude;
  uint64_t job = 0;
  bool without_telemetry = false;
  ReportFormat format = ReportFormat::kText;
};
// Prints the recommended nodes as a host list, and the reasons as a message. Returns kExitDamaged
// if there are not enough suitable nodes. JSON: a RecommendNodesResponse.
int RunJobPlace(const JobPlaceOptions& options);

}  // namespace rocescope
