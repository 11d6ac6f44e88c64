// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/known_facts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace rocescope {

void KnownFacts::SetFiles(HostFiles files) { files_ = std::move(files); }
void KnownFacts::SetAgents(AgentFacts facts) {
  agents_ = std::move(facts);
  if (!agents_.logs.empty()) GroupLogs();
}
void KnownFacts::SetAllocations(std::vector<Allocation> allocations) {
  allocations_ = std::move(allocations);
}

// Cached, because grouping many logs is slow and the facts also change with each registered job.
const KnownFacts::Grouped& KnownFacts::GroupLogs() {
  NcclLogs logs = files_.logs;
  std::ranges::copy(agents_.logs, std::back_inserter(logs));
  if (!grouped_ || grouped_->logs != logs) {
    grouped_ = {.logs = std::move(logs), .jobs = {}, .could_be_parted = false};
    grouped_->jobs = GroupJobs(grouped_->logs);
    grouped_->could_be_parted = CouldBeParted(grouped_->jobs);
  }
  return *grouped_;
}

HostFacts KnownFacts::All() {
  HostFacts facts = files_.facts;
  if (!agents_.logs.empty()) {
    const Grouped& all = GroupLogs();
    facts.jobs = all.jobs;
    facts.logs = all.could_be_parted ? all.logs : NcclLogs{};
  } else {
    grouped_.reset();
  }
  std::unordered_set<std::string_view> reported_hosts;
  for (const RdmaDump& dump : agents_.rdma) reported_hosts.insert(dump.host);
  std::erase_if(facts.rdma, [&](const RdmaDump& old) { return reported_hosts.contains(old.host); });
  std::ranges::copy(agents_.rdma, std::back_inserter(facts.rdma));
  facts.nics = agents_.nics;
  facts.gpus = agents_.gpus;
  facts.processes = agents_.processes;
  std::unordered_set<uint64_t> reported;
  for (const Allocation& one : allocations_) reported.insert(one.id);
  std::erase_if(facts.allocations,
                [&](const Allocation& old) { return reported.contains(old.id); });
  for (const Allocation& one : facts.allocations) reported.insert(one.id);
  for (const Allocation& one : agents_.allocations) {
    if (!reported.contains(one.id)) facts.allocations.push_back(one);
  }
  std::ranges::copy(allocations_, std::back_inserter(facts.allocations));
  std::ranges::sort(facts.allocations, {}, &Allocation::id);
  return facts;
}

}  // namespace rocescope
