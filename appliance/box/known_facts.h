// SPDX-License-Identifier: BSD-3-Clause
// What files, agents and schedulers say of hosts, as one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analytics/job/host_facts.h"
#include "appliance/feed/host_files.h"
#include "appliance/intake/agent_facts.h"

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
  // Jobs of the files' and the agents' logs: the same for the same logs.
  struct Grouped {
    std::shared_ptr<const std::vector<NcclLog>> file_logs;
    uint64_t log_changes = 0;  // of the agents'
    std::vector<Job> jobs;
    std::shared_ptr<const std::vector<NcclLog>> logs;  // null: nothing could part them
  };

  const Grouped& GroupLogs();

  HostFiles files_;
  AgentFacts agents_;
  std::vector<Allocation> allocations_;
  std::optional<Grouped> grouped_;
};

}  // namespace rocescope
