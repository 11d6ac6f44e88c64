// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/communicator.h"

#include <algorithm>
#include <map>

#include "analytics/connection/disjoint_sets.h"
#include "analytics/job/communicator_set.h"
#include "analytics/job/host_index.h"
#include "analytics/job/job_builder.h"
#include "analytics/job/process_set.h"

namespace rocescope {
namespace {

void Place(const HostIndex& hosts, JobRank& rank) {
  rank.addresses_complete = !rank.ports.empty();
  for (const NicPort& port : rank.ports) {
    const std::vector<IpAddress> found = hosts.AddressesOf(rank.host, port);
    if (found.empty()) rank.addresses_complete = false;
    rank.addresses.insert(rank.addresses.end(), found.begin(), found.end());
  }
  std::ranges::sort(rank.addresses);
  rank.addresses.erase(std::ranges::unique(rank.addresses).begin(), rank.addresses.end());
  if (rank.addresses.size() > kMaxAddressesOfRank) rank.addresses.resize(kMaxAddressesOfRank);
}

// Only the sender's line prints an address, but it applies to every process of the host that uses
// the same port.
void PlaceRanks(std::vector<Job>& jobs) {
  const HostIndex hosts(jobs);
  for (Job& job : jobs) {
    for (JobRank& rank : job.ranks) {
      for (JobQueuePair& qp : rank.queue_pairs) {
        if (qp.address || qp.device.empty()) continue;
        const auto found = hosts.AddressesOf(rank.host, {.device = qp.device, .port = qp.port});
        if (found.size() == 1) qp.address = found[0];
      }
      Place(hosts, rank);
    }
  }
}

std::vector<Job> Group(std::span<const NcclLog* const> logs, const JobEvidence& evidence) {
  const std::vector<LoggedProcess> processes = CollectProcesses(logs);
  const CommunicatorSet set = MatchCommunicators(processes, evidence);
  DisjointSets components(processes.size());
  for (const CommunicatorGroup& group : set.groups) {
    for (const auto& [rank, member] : group.members) {
      components.Join(member.process, group.members.begin()->second.process);
    }
  }
  std::map<size_t, std::pair<std::vector<size_t>, std::vector<int>>> parts;
  for (size_t g = 0; g < set.groups.size(); ++g) {
    const size_t root = components.RootOf(set.groups[g].members.begin()->second.process);
    parts[root].second.push_back(static_cast<int>(g));
  }
  for (size_t p = 0; p < processes.size(); ++p) {
    const auto part = parts.find(components.RootOf(p));
    if (part != parts.end()) part->second.first.push_back(p);
  }
  std::vector<Job> jobs;
  for (auto& [root, part] : parts) {
    jobs.push_back(BuildJob(processes, set, std::move(part.first), std::move(part.second)));
  }
  PlaceRanks(jobs);
  PlaceRanksOfDefaultLogs(jobs, evidence.nics);
  std::ranges::sort(jobs, {}, [](const Job& job) { return std::pair(-job.rank_count, job.id); });
  return jobs;
}

}  // namespace

std::vector<Job> GroupJobs(const NcclLogs& logs, const JobEvidence& evidence) {
  std::vector<const NcclLog*> all;
  for (const auto& log : logs) all.push_back(log.get());
  return Group(all, evidence);
}

std::vector<Job> GroupJobs(std::span<const NcclLog> logs, const JobEvidence& evidence) {
  std::vector<const NcclLog*> all;
  for (const NcclLog& log : logs) all.push_back(&log);
  return Group(all, evidence);
}

void PlaceRanksOfDefaultLogs(std::vector<Job>& jobs, std::span<const HostNic> nics) {
  const HostIndex hosts({}, nics);
  for (Job& job : jobs) {
    for (JobRank& rank : job.ranks) {
      if (!rank.queue_pairs.empty() || rank.addresses_complete || rank.ports.empty()) continue;
      Place(hosts, rank);
    }
  }
}

bool CouldBeParted(std::span<const Job> jobs) {
  return std::ranges::any_of(jobs, [](const Job& job) {
    return std::ranges::any_of(job.communicators, &JobCommunicator::was_parted);
  });
}

}  // namespace rocescope
