// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/known_facts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace rocescope {

void KnownFacts::SetFiles(HostFiles files) {
  files_ = std::make_shared<const HostFiles>(std::move(files));
  GroupLogs();
}

void KnownFacts::SetAgents(AgentFacts facts) {
  agents_ = std::make_shared<const AgentFacts>(std::move(facts));
  GroupLogs();
}

void KnownFacts::SetAllocations(std::vector<Allocation> allocations) {
  allocations_ = std::make_shared<const std::vector<Allocation>>(std::move(allocations));
}

// Only if the logs have changed, because grouping many logs is slow.
void KnownFacts::GroupLogs() {
  if (agents_->logs.empty()) {
    grouped_.reset();
    return;
  }
  NcclLogs logs = files_->logs;
  std::ranges::copy(agents_->logs, std::back_inserter(logs));
  if (grouped_ && grouped_->logs == logs) return;
  auto grouped = std::make_shared<Grouped>();
  grouped->logs = std::move(logs);
  grouped->jobs = GroupJobs(grouped->logs);
  grouped->could_be_parted = CouldBeParted(grouped->jobs);
  grouped_ = std::move(grouped);
}

HostFacts KnownFacts::All() const {
  HostFacts facts = files_->facts;
  if (grouped_) {
    facts.jobs = grouped_->jobs;
    facts.logs = grouped_->could_be_parted ? grouped_->logs : NcclLogs{};
  }
  std::unordered_set<std::string_view> reported_hosts;
  for (const RdmaDump& dump : agents_->rdma) reported_hosts.insert(dump.host);
  std::erase_if(facts.rdma, [&](const RdmaDump& old) { return reported_hosts.contains(old.host); });
  std::ranges::copy(agents_->rdma, std::back_inserter(facts.rdma));
  facts.nics = agents_->nics;
  facts.gpus = agents_->gpus;
  facts.processes = agents_->processes;
  std::unordered_set<uint64_t> reported;
  for (const Allocation& one : *allocations_) reported.insert(one.id);
  std::erase_if(facts.allocations,
                [&](const Allocation& old) { return reported.contains(old.id); });
  for (const Allocation& one : facts.allocations) reported.insert(one.id);
  for (const Allocation& one : agents_->allocations) {
    if (!reported.contains(one.id)) facts.allocations.push_back(one);
  }
  std::ranges::copy(*allocations_, std::back_inserter(facts.allocations));
  std::ranges::sort(facts.allocations, {}, &Allocation::id);
  return facts;
}

}  // namespace rocescope
