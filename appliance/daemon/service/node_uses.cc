// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/node_uses.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rocescope {
namespace {

using topology::kNone;

// Returns the GPU numbers that the topology contains. The list of a scheduler can be hundreds of
// times as long. If the topology contains none of them, the first one is returned, because an empty
// list would stand for the whole node.
std::vector<uint32_t> KnownGpus(const topology::Fabric& fabric, topology::NodeIndex host,
                                const std::vector<uint32_t>& numbers) {
  std::vector<uint32_t> known;
  for (const topology::GpuIndex gpu : fabric.GpusOf(host)) {
    const uint32_t number = fabric.gpu(gpu).number;
    if (std::ranges::find(numbers, number) != numbers.end()) known.push_back(number);
  }
  if (known.empty() && !numbers.empty()) known.push_back(numbers.front());
  return known;
}

void AddAllocation(const RankPlaces& places, const topology::Fabric& fabric, const Allocation& job,
                   std::vector<NodeUsage>& out) {
  for (const AllocatedNode& node : job.nodes) {
    const topology::NodeIndex host = places.HostOf({.host = node.name});
    if (host == kNone) continue;
    out.push_back({.node = host, .gpus = KnownGpus(fabric, host, node.gpus), .job = job.id});
  }
}

Timestamp LastSeen(const AttributedJob& job) {
  Timestamp last;
  for (const RankEdge& edge : job.edges) last = std::max(last, edge.last_seen);
  return last;
}

void AddRanks(const RankPlaces& places, const topology::Fabric& fabric, const Job& job,
              std::vector<NodeUsage>& out) {
  for (const JobRank& rank : job.ranks) {
    const topology::NodeIndex host = places.HostOf(rank);
    if (host == kNone) continue;
    NodeUsage use = {.node = host};
    if (const topology::GpuIndex gpu = places.GpuOf(rank, host); gpu != kNone) {
      use.gpus = {fabric.gpu(gpu).number};
    }
    out.push_back(std::move(use));
  }
}

}  // namespace

std::vector<uint32_t> UnknownGpus(const topology::Fabric& fabric, topology::NodeIndex host,
                                  std::span<const uint32_t> numbers) {
  std::vector<uint32_t> unknown;
  const std::span<const topology::GpuIndex> known = fabric.GpusOf(host);
  if (known.empty()) return unknown;
  for (const uint32_t number : numbers) {
    const auto is_it = [&](topology::GpuIndex gpu) { return fabric.gpu(gpu).number == number; };
    if (std::ranges::none_of(known, is_it)) unknown.push_back(number);
  }
  return unknown;
}

std::vector<NodeUsage> NodeUses(const RankPlaces& places, const Snapshot& snapshot,
                                std::span<const Allocation> allocations, Timestamp now,
                                uint64_t own) {
  std::vector<NodeUsage> uses;
  std::set<uint64_t> reported;  // ids of jobs that the scheduler reports
  for (const Allocation& job : allocations) {
    reported.insert(job.id);
    if (job.id == own || job.state == AllocationState::kEnded) continue;
    if (job.end && now - *job.end > kOverLimit) continue;
    AddAllocation(places, *snapshot.fabric, job, uses);
  }
  for (const AttributedJob& job : snapshot.attribution->jobs) {
    if (job.job.allocation && reported.contains(job.job.allocation->id)) continue;
    if (now - LastSeen(job) > kIdleJob) continue;
    AddRanks(places, *snapshot.fabric, job.job, uses);
  }
  return uses;
}

}  // namespace rocescope
