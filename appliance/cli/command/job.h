// SPDX-License-Identifier: BSD-3-Clause
// `rocescope job`: what a scheduler's scripts tell a running box of its jobs, and ask of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/host/allocation.h"
#include "appliance/cli/command/analysis.h"
#include "appliance/daemon/grpc/jobs_client.h"

namespace rocescope {

// All return an ExitCode: kExitDamaged where the box refuses, as it knows no such job; kExitUsage
// where a file of TLS cannot be used, kExitUnreadable where nobody answers in time.

struct JobRegisterOptions {
  JobsClientOptions client;
  uint64_t id = 0;
  std::vector<AllocatedNode> nodes;
  std::string name;
  std::string user;
  uint64_t start_seconds = 0;  // since the epoch, up to kLatestTime; 0: now
  uint64_t limit_seconds = 0;  // likewise; 0: not told
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
// JSON: an object with `registered`, a RegisteredJob, and `summary`, a JobSummary, if any of its
// packets were seen.
int RunJobShow(const JobShowOptions& options);

struct JobPlaceOptions {
  JobsClientOptions client;
  uint32_t nodes = 0;  // either this or `gpus`
  uint32_t gpus = 0;
  uint32_t gpus_per_node = 0;
  std::vector<std::string> candidates;  // host lists
  std::vector<std::string> exclude;
  uint64_t job = 0;
  bool missing = false;
  ReportFormat format = ReportFormat::kText;
};
// The chosen nodes as one host list, and why as a message; kExitDamaged where too few suit. JSON: a
// RankNodesResponse.
int RunJobPlace(const JobPlaceOptions& options);

}  // namespace rocescope
