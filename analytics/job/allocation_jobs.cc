// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/allocation_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rocescope {
namespace {

class Claimer {
 public:
  Claimer(const HostFacts& facts, const AllocationIndex& index,
          const std::vector<AllocationAnswer>& answers,
          const std::vector<std::optional<SeenTime>>& seen, std::vector<Job>& jobs)
      : facts_(facts), index_(index), answers_(answers), seen_(seen), jobs_(jobs) {
    std::map<uint64_t, std::vector<uint32_t>> having;
    for (uint32_t j = 0; j < jobs.size(); ++j) {
      const std::optional<JobAllocation>& allocation = jobs[j].allocation;
      if (allocation) having[allocation->id].push_back(j);
    }
    for (uint32_t a = 0; a < facts.allocations.size(); ++a) {
      const auto at = having.find(facts.allocations[a].id);
      if (at != having.end()) known_.emplace(a, at->second);
    }
  }

  // Claims connections for the jobs that have the allocations.
  void ClaimForKnownJobs(const ConnectionList& connections, std::vector<EndClaims>& ends) const {
    for (size_t i = 0; i < connections.size(); ++i) {
      const std::optional<uint32_t> allocation = OpenFor(i, ends);
      if (!allocation) continue;
      const std::optional<uint32_t> job = KnownJobOf(*allocation, connections[i]);
      if (!job) continue;
      for (std::optional<RankClaim>& end : ends[i]) {
        end = {.job = *job, .source = RankSource::kScheduler, .confidence = answers_[i].confidence};
      }
    }
  }

  // Adds the members in order of address, whatever the order of the connections.
  void AddMembers(const ConnectionList& connections, const std::vector<EndClaims>& ends) {
    std::set<std::pair<uint32_t, IpAddress>> members;
    for (size_t i = 0; i < connections.size(); ++i) {
      const std::optional<uint32_t> allocation = OpenFor(i, ends);
      if (!allocation) continue;
      for (const ConnectionEndpoint& end : connections[i].endpoints) {
        members.insert({*allocation, end.address});
      }
    }
    for (const auto& [allocation, address] : members) {
      const uint32_t j = JobOf(allocation);
      members_[{allocation, address}] = {.job = j,
                                         .member = static_cast<int>(jobs_[j].ranks.size()),
                                         .source = RankSource::kScheduler};
      jobs_[j].ranks.push_back(MemberAt(allocation, address));
    }
  }

  void Claim(const ConnectionList& connections, std::vector<EndClaims>& ends) const {
    for (size_t i = 0; i < connections.size(); ++i) {
      const std::optional<uint32_t> allocation = OpenFor(i, ends);
      if (!allocation) continue;
      for (size_t end = 0; end < 2; ++end) {
        RankClaim claim = members_.at({*allocation, connections[i].endpoints[end].address});
        claim.confidence = answers_[i].confidence;
        ends[i][end] = claim;
      }
    }
  }

 private:
  // Returns the allocation of the connection if neither end has a claim.
  std::optional<uint32_t> OpenFor(size_t i, const std::vector<EndClaims>& ends) const {
    return ends[i][0] || ends[i][1] ? std::nullopt : answers_[i].allocation;
  }

  // Several jobs, such as the starts of a restarted job, can have the allocation. Returns the one
  // whose traffic is nearest in time.
  std::optional<uint32_t> KnownJobOf(uint32_t allocation, const Connection& connection) const {
    const auto known = known_.find(allocation);
    if (known == known_.end()) return std::nullopt;
    if (known->second.size() == 1) return known->second[0];
    std::optional<uint32_t> nearest;
    Duration least = Duration::max();
    for (const uint32_t job : known->second) {
      if (!seen_[job]) return std::nullopt;
      const Duration distance = std::max({Duration::zero(), seen_[job]->from - connection.last_seen,
                                          connection.valid_from - seen_[job]->until});
      if (distance == least) nearest.reset();
      if (distance >= least) continue;
      least = distance;
      nearest = job;
    }
    return nearest;
  }

  uint32_t JobOf(uint32_t allocation) {
    const auto [at, is_new] = job_of_.try_emplace(allocation, static_cast<uint32_t>(jobs_.size()));
    if (!is_new) return at->second;
    const Allocation& of = facts_.allocations[allocation];
    jobs_.push_back({.id = fmt::format("slurm-{}", of.id),
                     .identity = JobIdentity::kScheduler,
                     .allocation = ToJobAllocation(of),
                     .notes = {NoteOn(allocation)}});
    return at->second;
  }

  std::string NoteOn(uint32_t allocation) const {
    const auto known = known_.find(allocation);
    if (known == known_.end()) {
      return "no NCCL log or rdma dump contains these processes; the nodes come from the "
             "scheduler's allocation";
    }
    return fmt::format(
        "this traffic belongs to one of {} jobs of the scheduler's allocation, for example {} and "
        "{}: their logs contain no queue pair numbers and no times",
        known->second.size(), jobs_[known->second[0]].id, jobs_[known->second[1]].id);
  }

  JobRank MemberAt(uint32_t allocation, const IpAddress& address) const {
    const AllocationIndex::Nic& nic = *index_.NicAt(address);
    JobRank member;
    member.host = nic.host;
    member.addresses = {address};
    member.addresses_complete = true;
    member.source = "slurm";
    if (!nic.device.empty()) member.devices = {{.name = nic.device}};
    for (const Holding& holding : index_.At(address)) {
      if (holding.allocation != allocation || holding.gpu < 0) continue;
      member.nvml_device = holding.gpu;
      member.gpu_bus_id = index_.PciOf(nic.host, holding.gpu);
    }
    return member;
  }

  const HostFacts& facts_;
  const AllocationIndex& index_;
  const std::vector<AllocationAnswer>& answers_;
  const std::vector<std::optional<SeenTime>>& seen_;
  std::vector<Job>& jobs_;
  std::map<uint32_t, std::vector<uint32_t>> known_;  // jobs from other sources by allocation
  std::map<uint32_t, uint32_t> job_of_;              // new jobs by allocation
  std::map<std::pair<uint32_t, IpAddress>, RankClaim> members_;
};

}  // namespace

JobAllocation ToJobAllocation(const Allocation& allocation) {
  return {.id = allocation.id, .name = allocation.name, .user = allocation.user};
}

std::vector<AllocationAnswer> AllocationsOf(const ConnectionList& connections,
                                            const AllocationIndex& index) {
  std::vector<AllocationAnswer> answers(connections.size());
  if (index.empty()) return answers;
  for (size_t i = 0; i < connections.size(); ++i) answers[i] = index.Of(connections[i]);
  return answers;
}

void ClaimByAllocation(const HostFacts& facts, const AllocationIndex& index,
                       const ConnectionList& connections,
                       const std::vector<AllocationAnswer>& answers,
                       const std::vector<std::optional<SeenTime>>& seen, std::vector<Job>& jobs,
                       std::vector<EndClaims>& ends, std::vector<std::string>& notes) {
  if (index.empty()) return;
  size_t ambiguous = 0;
  std::string example;
  for (size_t i = 0; i < connections.size(); ++i) {
    if (!answers[i].is_ambiguous || ends[i][0] || ends[i][1]) continue;
    if (ambiguous++ > 0) continue;
    example = fmt::format("{} and {}", ToString(connections[i].endpoints[0].address),
                          ToString(connections[i].endpoints[1].address));
  }
  Claimer claimer(facts, index, answers, seen, jobs);
  claimer.ClaimForKnownJobs(connections, ends);
  claimer.AddMembers(connections, ends);
  claimer.Claim(connections, ends);
  if (ambiguous == 0) return;
  notes.push_back(
      fmt::format("scheduler: {} connection{} not attributed, because several jobs share the nodes "
                  "and their allocations do not identify the job; for example between {}",
                  ambiguous, ambiguous == 1 ? " is" : "s are", example));
}

}  // namespace rocescope
