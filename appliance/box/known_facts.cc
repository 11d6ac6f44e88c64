// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/box/known_facts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace rocescope {

void KnownFacts::SetFiles(HostFiles files) { files_ = std::move(files); }
void KnownFacts::SetAgents(AgentFacts facts) { agents_ = std::move(facts); }
void KnownFacts::SetAllocations(std::vector<Allocation> allocations) {
  allocations_ = std::move(allocations);
}

// To group many logs takes long, and facts are told for each job that a scheduler registers.
const KnownFacts::Grouped& KnownFacts::GroupLogs() {
  if (grouped_ && grouped_->file_logs == files_.logs &&
      grouped_->log_changes == agents_.log_changes) {
    return *grouped_;
  }
  std::vector<NcclLog> logs = *files_.logs;
  logs.insert(logs.end(), agents_.logs.begin(), agents_.logs.end());
  grouped_ = {.file_logs = files_.logs,
              .log_changes = agents_.log_changes,
              .jobs = GroupJobs(logs),
              .logs = nullptr};
  if (CouldBeParted(grouped_->jobs)) {
    grouped_->logs = std::make_shared<const std::vector<NcclLog>>(std::move(logs));
  }
  return *grouped_;
}

HostFacts KnownFacts::All() {
  HostFacts facts = files_.facts;
  if (!agents_.logs.empty()) {
    const Grouped& of_all = GroupLogs();
    facts.jobs = of_all.jobs;
    facts.logs = of_all.logs;
  }
  std::unordered_set<std::string_view> hosts_told;
  for (const RdmaDump& dump : agents_.rdma) hosts_told.insert(dump.host);
  std::erase_if(facts.rdma, [&](const RdmaDump& old) { return hosts_told.contains(old.host); });
  std::ranges::copy(agents_.rdma, std::back_inserter(facts.rdma));
  facts.nics = agents_.nics;
  facts.gpus = agents_.gpus;
  facts.processes = agents_.processes;
  std::unordered_set<uint64_t> told;
  for (const Allocation& one : allocations_) told.insert(one.id);
  std::erase_if(facts.allocations, [&](const Allocation& old) { return told.contains(old.id); });
  for (const Allocation& one : facts.allocations) told.insert(one.id);
  for (const Allocation& one : agents_.allocations) {
    if (!told.contains(one.id)) facts.allocations.push_back(one);
  }
  std::ranges::copy(allocations_, std::back_inserter(facts.allocations));
  std::ranges::sort(facts.allocations, {}, &Allocation::id);
  return facts;
}

}  // namespace rocescope
