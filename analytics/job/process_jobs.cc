// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analytics/connection/disjoint_sets.h"
#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

using Processes = std::map<Claims::Holder, uint32_t>;

// A group of processes that communicate with each other.
struct ProcessGroup {
  int64_t allocation = 0;  // index; kNone: several, or none
  Timestamp from;
  Timestamp until;
  std::set<IpAddress> addresses;
};

// A job within an allocation. Its first group identifies it.
struct Incarnation {
  uint32_t first_group = 0;
  Timestamp until;
  std::set<IpAddress> addresses;
};

bool Overlap(const std::set<IpAddress>& a, const std::set<IpAddress>& b) {
  return std::ranges::any_of(a, [&](const IpAddress& address) { return b.contains(address); });
}

// Groups whose connections are all within one allocation belong to one job if they run the same
// program: the rails of a job need not communicate with each other, and other programs on its nodes
// have other names. Groups that use the NICs of earlier ones, which have ended, belong to the next
// incarnation of a restarted job.
template <typename HolderOf>
void JoinByAllocation(const ConnectionList& connections,
                      const std::vector<AllocationAnswer>& allocations, const HolderOf& holder_of,
                      const Processes& processes, DisjointSets& groups) {
  constexpr int64_t kNone = -1;
  std::map<uint32_t, ProcessGroup> all;  // indexed by root
  for (size_t i = 0; i < connections.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      const Claims::Holder* holder = holder_of(i, end);
      if (holder == nullptr) continue;
      const int64_t allocation =
          allocations[i].allocation ? int64_t{*allocations[i].allocation} : kNone;
      const Connection& connection = connections[i];
      const auto [at, is_first] = all.try_emplace(groups.RootOf(processes.at(*holder)),
                                                  ProcessGroup{.allocation = allocation,
                                                               .from = connection.valid_from,
                                                               .until = connection.last_seen,
                                                               .addresses = {}});
      ProcessGroup& group = at->second;
      if (group.allocation != allocation) group.allocation = kNone;
      group.from = std::min(group.from, connection.valid_from);
      group.until = std::max(group.until, connection.last_seen);
      group.addresses.insert(connection.endpoints[end].address);
    }
  }
  std::map<uint32_t, std::string_view> command_of;
  for (const auto& [holder, number] : processes) {
    command_of.try_emplace(groups.RootOf(number), holder.command);
  }
  std::vector<std::pair<Timestamp, uint32_t>> order;
  for (const auto& [root, group] : all) {
    if (group.allocation != kNone) order.emplace_back(group.from, root);
  }
  std::ranges::sort(order);
  std::map<std::pair<int64_t, std::string_view>, Incarnation> latest;
  for (const auto& [from, root] : order) {
    const ProcessGroup& group = all.at(root);
    const Incarnation started = {
        .first_group = root, .until = group.until, .addresses = group.addresses};
    const auto [at, is_first] =
        latest.try_emplace({group.allocation, command_of.at(root)}, started);
    Incarnation& incarnation = at->second;
    if (!is_first && from > incarnation.until && Overlap(group.addresses, incarnation.addresses)) {
      incarnation = started;
      continue;
    }
    groups.Join(incarnation.first_group, root);
    incarnation.until = std::max(incarnation.until, group.until);
    incarnation.addresses.insert(group.addresses.begin(), group.addresses.end());
  }
}

// What distinguishes jobs from other programs.
struct GroupTraits {
  std::set<uint32_t> processes;
  std::string_view command;
  bool has_data = false;
  bool is_job = false;  // clear-to-sends, a rank, or a scheduler allocation
};

// Joins the groups of other programs by command. Returns the first process of each.
template <typename HolderOf>
std::set<uint32_t> JoinOtherTraffic(const ConnectionList& connections, const FlowSummaries& flows,
                                    const std::vector<AllocationAnswer>& allocations,
                                    const HolderOf& holder_of, const Processes& processes,
                                    const std::vector<HostProcess>& environments,
                                    DisjointSets& groups) {
  std::map<uint32_t, GroupTraits> all;  // indexed by root
  for (const auto& [holder, number] : processes) {
    GroupTraits& group = all[groups.RootOf(number)];
    group.processes.insert(number);
    group.command = holder.command;
  }
  for (const HostProcess& one : environments) {
    if (one.rank < 0) continue;
    auto at = processes.lower_bound({.host = one.host, .process_id = one.process_id});
    for (; at != processes.end() && at->first.host == one.host &&
           at->first.process_id == one.process_id;
         ++at) {
      all[groups.RootOf(at->second)].is_job = true;
    }
  }
  for (size_t i = 0; i < connections.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      const Claims::Holder* holder = holder_of(i, end);
      if (holder == nullptr) continue;
      GroupTraits& group = all[groups.RootOf(processes.at(*holder))];
      group.is_job = group.is_job || allocations[i].allocation.has_value();
      for (size_t from = 0; from < 2; ++from) {
        const FlowCounts* const sent = CarriedFrom(from, connections[i], flows);
        if (sent == nullptr) continue;
        group.is_job = group.is_job || sent->control_messages > 0;
        group.has_data = group.has_data || sent->DataBytes() > 0;
      }
    }
  }
  // Without counts of the data, as with sFlow, clear-to-sends are unknown. A job may then be a pair
  // of processes too, but many pairs with the same command are not as many jobs.
  constexpr size_t kManyPairs = 3;
  std::map<std::string_view, std::vector<uint32_t>> pairs;
  std::set<std::string_view> commands_with_data;
  for (const auto& [root, group] : all) {
    if (group.is_job || group.processes.size() > 2) continue;
    pairs[group.command].push_back(root);
    if (group.has_data) commands_with_data.insert(group.command);
  }
  std::set<uint32_t> others;
  for (const auto& [command, roots] : pairs) {
    if (!commands_with_data.contains(command) && roots.size() < kManyPairs) continue;
    for (const uint32_t root : roots) groups.Join(roots[0], root);
    others.insert(groups.RootOf(roots[0]));
  }
  return others;
}

using Environments = std::map<std::pair<std::string_view, uint64_t>, const HostProcess*>;

Environments ByProcess(const std::vector<HostProcess>& environments) {
  Environments by_process;
  for (const HostProcess& one : environments) by_process[{one.host, one.process_id}] = &one;
  return by_process;
}

JobRank RankOf(const Claims::Holder& holder, const Environments& environments) {
  JobRank rank = {
      .host = std::string(holder.host), .process_id = holder.process_id, .source = "rdma"};
  if (const auto at = environments.find({holder.host, holder.process_id});
      at != environments.end()) {
    rank.rank = at->second->rank;
    rank.nvml_device = at->second->gpu;
  }
  return rank;
}

// If several processes claim the same rank, they belong to different jobs, or one inherited the
// environment of another: the rank is ignored for all of them.
void DropDoubleRanks(Job& job) {
  std::map<int, int> times;
  for (const JobRank& rank : job.ranks) ++times[rank.rank];
  times.erase(-1);
  std::erase_if(times, [](const auto& one) { return one.second == 1; });
  if (times.empty()) return;
  const auto& [doubled, count] = *times.begin();
  job.notes.push_back(
      fmt::format("{} processes claim rank {}: their ranks are ignored", count, doubled));
  for (JobRank& rank : job.ranks) {
    if (times.contains(rank.rank)) rank.rank = -1;
  }
}

// Returns the rank count if all processes that state it agree, otherwise 0.
int RankCountOf(const Job& job, const Environments& environments) {
  int count = 0;
  for (const JobRank& rank : job.ranks) {
    const auto at = environments.find({rank.host, rank.process_id});
    if (at == environments.end() || at->second->world_size <= 0) continue;
    if (count != 0 && count != at->second->world_size) return 0;
    count = at->second->world_size;
  }
  return count;
}

// Sorts ranks with a number first; the others keep their order. Returns the new index of each rank.
std::vector<int> SortRanks(Job& job) {
  std::vector<int> order(job.ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) {
    const int rank = job.ranks[static_cast<size_t>(i)].rank;
    return std::pair(rank < 0, rank);
  });
  std::vector<JobRank> sorted;
  std::vector<int> place(order.size());
  for (const int i : order) {
    place[static_cast<size_t>(i)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(job.ranks[static_cast<size_t>(i)]));
  }
  job.ranks = std::move(sorted);
  return place;
}

}  // namespace

std::vector<Job> JobsOfProcesses(const ConnectionList& connections, const FlowSummaries& flows,
                                 const Claims& claims,
                                 const std::vector<AllocationAnswer>& allocations,
                                 const std::vector<HostProcess>& environments, uint32_t first,
                                 std::vector<EndClaims>& ends) {
  const auto holder_of = [&](size_t i, size_t end) -> const Claims::Holder* {
    return ends[i][end] ? nullptr : claims.HolderOf(i, end);
  };
  Processes processes;  // sorted; the index is the number
  for (size_t i = 0; i < connections.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      if (const Claims::Holder* holder = holder_of(i, end)) processes.emplace(*holder, 0);
    }
  }
  uint32_t count = 0;
  for (auto& [holder, number] : processes) number = count++;
  DisjointSets groups(count);
  for (size_t i = 0; i < connections.size(); ++i) {
    const Claims::Holder* a = holder_of(i, 0);
    const Claims::Holder* b = holder_of(i, 1);
    if (a != nullptr && b != nullptr) groups.Join(processes.at(*a), processes.at(*b));
  }

  JoinByAllocation(connections, allocations, holder_of, processes, groups);
  const std::set<uint32_t> others =
      JoinOtherTraffic(connections, flows, allocations, holder_of, processes, environments, groups);

  const Environments by_process = ByProcess(environments);
  std::vector<Job> jobs;
  std::vector<RankClaim> claim_of(count);
  std::vector<uint32_t> job_of(count);  // indexed by the first process of a group
  for (const auto& [holder, number] : processes) {
    const uint32_t group = groups.RootOf(number);
    if (group == number && others.contains(group)) {
      job_of[group] = static_cast<uint32_t>(jobs.size());
      jobs.push_back({.id = fmt::format("other-{}", holder.command),
                      .identity = JobIdentity::kKernel,
                      .is_other_traffic = true,
                      .notes = {"from rdma dumps: pairs of processes without observed "
                                "clear-to-sends of collective libraries, such as storage"}});
    } else if (group == number) {
      job_of[group] = static_cast<uint32_t>(jobs.size());
      jobs.push_back(
          {.id = fmt::format("{}-{}:{}", holder.command, holder.host, holder.process_id),
           .identity = JobIdentity::kKernel,
           .notes = {"inferred from rdma dumps: no NCCL log contains these processes, but "
                     "they share connections or a scheduler allocation"}});
    }
    Job& job = jobs[job_of[group]];
    claim_of[number] = {.job = first + job_of[group],
                        .member = static_cast<int>(job.ranks.size()),
                        .source = RankSource::kRdmaResource,
                        .confidence = kOwnKernel};
    job.ranks.push_back(RankOf(holder, by_process));
  }
  std::vector<std::vector<int>> places;  // indexed by job
  for (Job& job : jobs) {
    DropDoubleRanks(job);
    job.rank_count = RankCountOf(job, by_process);
    places.push_back(SortRanks(job));
  }
  for (RankClaim& claim : claim_of) {
    const uint32_t job = claim.job - first;
    claim.member = places[job][static_cast<size_t>(claim.member)];
    claim.rank = jobs[job].ranks[static_cast<size_t>(claim.member)].rank;
  }
  for (size_t i = 0; i < connections.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      if (const Claims::Holder* holder = holder_of(i, end)) {
        ends[i][end] = claim_of[processes.at(*holder)];
      }
    }
  }
  return jobs;
}

}  // namespace rocescope
