// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_jobs.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {
namespace {

using Processes = std::map<Claims::Holder, uint32_t>;

// Groups whose connections are all within one allocation are of one job if they run one program: a
// job's rails need not talk to each other, and what else runs on its nodes has another name.
template <typename HolderOf>
void JoinByAllocation(const ConnectionList& connections,
                      const std::vector<AllocationAnswer>& allocations, const HolderOf& holder_of,
                      const Processes& processes, DisjointSets& groups) {
  constexpr int64_t kNone = -1;
  std::map<uint32_t, int64_t> allocation_of;  // by group; kNone: of several, or of none
  for (size_t i = 0; i < connections.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      const Claims::Holder* holder = holder_of(i, end);
      if (holder == nullptr) continue;
      const int64_t allocation =
          allocations[i].allocation ? int64_t{*allocations[i].allocation} : kNone;
      const auto [at, is_first] =
          allocation_of.try_emplace(groups.RootOf(processes.at(*holder)), allocation);
      if (!is_first && at->second != allocation) at->second = kNone;
    }
  }
  std::map<std::pair<int64_t, std::string_view>, uint32_t> first_of;
  std::map<uint32_t, std::string_view> command_of;
  for (const auto& [holder, number] : processes) {
    command_of.try_emplace(groups.RootOf(number), holder.command);
  }
  for (const auto& [group, allocation] : allocation_of) {
    if (allocation == kNone) continue;
    const auto [at, is_first] = first_of.try_emplace({allocation, command_of.at(group)}, group);
    if (!is_first) groups.Join(at->second, group);
  }
}

}  // namespace

std::vector<Job> JobsOfProcesses(const ConnectionList& connections, const Claims& claims,
                                 const std::vector<AllocationAnswer>& allocations, uint32_t first,
                                 std::vector<EndClaims>& ends) {
  const auto holder_of = [&](size_t i, size_t end) -> const Claims::Holder* {
    return ends[i][end] ? nullptr : claims.HolderOf(i, end);
  };
  Processes processes;  // in their order, which numbers them
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

  std::vector<Job> jobs;
  std::vector<RankClaim> claim_of(count);
  std::vector<uint32_t> job_of(count);  // of a group's first
  for (const auto& [holder, number] : processes) {
    const uint32_t group = groups.RootOf(number);
    if (group == number) {
      job_of[group] = static_cast<uint32_t>(jobs.size());
      jobs.push_back({.id = fmt::format("{}-{}:{}", holder.command, holder.host, holder.process_id),
                      .identity = JobIdentity::kKernel,
                      .notes = {"no log tells of these processes: their kernels do, and that they "
                                "talk to each other or share an allocation"}});
    }
    Job& job = jobs[job_of[group]];
    claim_of[number] = {.job = first + job_of[group],
                        .member = static_cast<int>(job.ranks.size()),
                        .source = RankSource::kRdmaResource,
                        .confidence = kOwnKernel};
    job.ranks.push_back(
        {.host = std::string(holder.host), .process_id = holder.process_id, .source = "rdma"});
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
