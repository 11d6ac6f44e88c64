// SPDX-License-Identifier: BSD-3-Clause
// Merges the host facts from files, agents and schedulers.
#pragma once

#include <optional>
#include <vector>

#include "analytics/job/host_facts.h"
#include "appliance/common/files/host_files.h"
#include "appliance/daemon/intake/agent_facts.h"

namespace rocescope {

// Not thread-safe.
class KnownFacts {
 public:
  // Each setter replaces the previous value from the same origin.
  void SetFiles(HostFiles files);
  void SetAgents(AgentFacts facts);
  void SetAllocations(std::vector<Allocation> allocations);  // registered by a scheduler

  // Merges all facts. A later or more reliable statement replaces an earlier one about the same
  // object: scheduler before agent before file. Logs are regrouped into jobs only if they changed.
  HostFacts All();

 private:
  // The logs of files and agents, and the jobs derived from them. Cached while the logs do not
  // change.
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
