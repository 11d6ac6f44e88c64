// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/job_index.h"

#include <algorithm>

namespace rocescope {
namespace {

bool HasAddress(const JobRank& rank, const IpAddress& address) {
  return std::ranges::binary_search(rank.addresses, address) ||
         (!rank.addresses_complete && rank.oob_address == address);
}

}  // namespace

JobIndex::JobIndex(const std::vector<Job>& jobs, const HostIndex& hosts)
    : jobs_(jobs), hosts_(hosts), member_of_rank_(jobs.size()) {
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (uint32_t m = 0; m < jobs[j].ranks.size(); ++m) {
      const JobRank& rank = jobs[j].ranks[m];
      if (rank.rank >= 0) member_of_rank_[j].emplace(rank.rank, m);
      for (const IpAddress& address : rank.addresses) at_[{j, address}].push_back(m);
      if (rank.addresses_complete) continue;
      ++unplaced_[{j, rank.host}];
      // The out-of-band address often belongs to the same NIC.
      if (!rank.oob_address || std::ranges::binary_search(rank.addresses, *rank.oob_address)) {
        continue;
      }
      at_[{j, *rank.oob_address}].push_back(m);
    }
  }
}

RankName JobIndex::Complete(uint32_t job, RankName name) const {
  if (name.rank < 0 || name.member >= 0) return name;
  const auto found = member_of_rank_[job].find(name.rank);
  if (found != member_of_rank_[job].end()) name.member = static_cast<int>(found->second);
  return name;
}

RankName JobIndex::NameOf(const Job& job, uint32_t member) {
  return {.rank = job.ranks[member].rank, .member = static_cast<int>(member)};
}

std::span<const uint32_t> JobIndex::At(uint32_t job, const IpAddress& address) const {
  const auto at = at_.find({job, address});
  return at == at_.end() ? std::span<const uint32_t>() : std::span(at->second);
}

JobIndex::Fit JobIndex::FitOf(uint32_t job, RankName name, const IpAddress& address) const {
  name = Complete(job, name);
  if (name.member < 0) return Fit::kMaybe;
  const JobRank& rank = jobs_[job].ranks[static_cast<size_t>(name.member)];
  if (HasAddress(rank, address)) return Fit::kYes;
  if (rank.addresses_complete) return Fit::kNo;
  const std::vector<const HostEntry*> hosts = hosts_.At(address);
  const bool is_elsewhere = !hosts.empty() && std::ranges::none_of(hosts, [&](const HostEntry* h) {
    return h->name == rank.host;
  });
  return is_elsewhere ? Fit::kNo : Fit::kMaybe;
}

bool JobIndex::ShowsAllAt(uint32_t job, const IpAddress& address) const {
  if (jobs_[job].ranks_seen < jobs_[job].rank_count) return false;
  const std::vector<const HostEntry*> hosts = hosts_.At(address);
  return !hosts.empty() && std::ranges::none_of(hosts, [&](const HostEntry* host) {
    return unplaced_.contains({job, host->name});
  });
}

}  // namespace rocescope
