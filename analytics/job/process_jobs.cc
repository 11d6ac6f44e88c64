// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_jobs.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {

std::vector<Job> JobsOfProcesses(const std::vector<Connection>& connections, const Claims& claims,
                                 uint32_t first, std::vector<EndClaims>& ends) {
  const auto holder_of = [&](size_t i, size_t end) -> const Claims::Holder* {
    return ends[i][end] ? nullptr : claims.HolderOf(i, end);
  };
  std::map<Claims::Holder, uint32_t> processes;  // in their order, which numbers them
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

  std::vector<Job> jobs;
  std::vector<RankClaim> claim_of(count);
  std::vector<uint32_t> job_of(count);  // of a group's first
  for (const auto& [holder, number] : processes) {
    const uint32_t group = groups.RootOf(number);
    if (group == number) {
      job_of[group] = static_cast<uint32_t>(jobs.size());
      jobs.push_back({.id = fmt::format("{}-{}:{}", holder.command, holder.host, holder.process_id),
                      .notes = {"no log tells of these processes: their kernels do, and that they "
                                "talk to each other"}});
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
