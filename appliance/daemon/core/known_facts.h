// SPDX-License-Identifier: BSD-3-Clause
// Merges the host facts from files, agents and schedulers.
#pragma once

#include <memory>
#include <vector>

#include "analytics/job/host_facts.h"
#include "appliance/common/files/host_files.h"
#include "appliance/daemon/intake/agent_facts.h"

namespace rocescope {

// Not thread-safe. Copies are cheap, because they share the facts.
class KnownFacts {
 public:
  // Each setter replaces the previous value from the same origin.
  void SetFiles(HostFiles files);
  void SetAgents(AgentFacts facts);
  void SetAllocations(std::vector<Allocation> allocations);  // registered by a scheduler

  // Merges all facts. A later or more reliable statement replaces an earlier one about the same
  // object: scheduler before agent before file.
  HostFacts All() const;

 private:
  // The logs of files and agents, and the jobs derived from them.
  struct Grouped {
    NcclLogs logs;
    std::vector<Job> jobs;
    bool could_be_parted = false;
  };

  void GroupLogs();

  std::shared_ptr<const HostFiles> files_ = std::make_shared<HostFiles>();
  std::shared_ptr<const AgentFacts> agents_ = std::make_shared<AgentFacts>();
  std::shared_ptr<const std::vector<Allocation>> allocations_ =
      std::make_shared<std::vector<Allocation>>();
  std::shared_ptr<const Grouped> grouped_;  // null: the agents have no logs
};

}  // namespace rocescope
