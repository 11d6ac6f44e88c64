// SPDX-License-Identifier: BSD-3-Clause
// What files, agents and schedulers say of hosts, as one.
#pragma once

#include <optional>
#include <vector>

#include "analytics/job/host_facts.h"
#include "appliance/common/files/host_files.h"
#include "appliance/daemon/intake/agent_facts.h"

namespace rocescope {

// One thread at a time.
class KnownFacts {
 public:
  // Each takes the place of what the same one said before.
  void SetFiles(HostFiles files);
  void SetAgents(AgentFacts facts);
  void SetAllocations(std::vector<Allocation> allocations);  // that a scheduler registered

  // What is said later, or of more certain knowledge, stands for the same thing said before: a
  // scheduler's word for an agent's and a file's, an agent's for a file's. Logs are grouped into
  // jobs where they have changed since the last time.
  HostFacts All();

 private:
  // The files' and the agents' logs and their jobs: the same for the same logs.
  struct Grouped {
    NcclLogs logs;
    std::vector<Job> jobs;
    bool could_be_parted = false;
  };

  const Grouped& GroupLogs();

  HostFiles files_;
  AgentFacts agents_;
  std::vector<Allocation> allocations_;
  std::optional<Grouped> grouped_;
};

}  // namespace rocescope
