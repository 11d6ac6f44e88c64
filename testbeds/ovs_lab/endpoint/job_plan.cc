// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>

#include "base/hash.h"
#include "sim/engine/random.h"

namespace rocescope::endpoint {
namespace {

constexpr uint32_t kFirstQpn = 0x48;  // numbers below are reserved for the NIC and the kernel
constexpr uint16_t kFirstSourcePort = 0xc000;
constexpr uint64_t kHeap = 0x7f00'0000'0000;

uint64_t HashOf(uint64_t seed, std::initializer_list<uint64_t> values) {
  for (const uint64_t value : values) seed = HashCombine(seed, value);
  return seed;
}

Status CheckPlan(const sim::Plan& plan, const std::string& where) {
  for (const auto& earlier : plan.transfers()) {
    for (const uint32_t later : plan.DependantsOf(earlier)) {
      const uint32_t sender = plan.transfers()[later].from;
      if (sender == earlier.from || sender == earlier.to) continue;
      return MakeError(ErrorCode::kInternal,
                       fmt::format("{}: a transfer depends on one of two other ranks", where));
    }
  }
  return {};
}

Channel MakeChannel(const JobPlan& job, uint32_t group, uint32_t from, uint32_t to,
                    QueuePairNumbers& numbers) {
  const uint64_t key = HashOf(job.seed, {group, from, to});
  Channel channel{.group = group, .from = from, .to = to};
  for (uint32_t i = 0; i < job.options.queue_pairs; ++i) {
    channel.pairs.push_back({.sender = numbers.Choose(job.nics[from], HashOf(key, {i, 0})),
                             .receiver = numbers.Choose(job.nics[to], HashOf(key, {i, 1}))});
  }
  sim::Random random(key, "memory", numbers.options().start_number);
  channel.rkey = static_cast<uint32_t>(random.Next()) | 1;
  channel.fifo_rkey = static_cast<uint32_t>(random.Next()) | 1;
  channel.buffer = kHeap | (random.Below(1u << 20) << 20);
  channel.fifo = kHeap | (random.Below(1u << 20) << 16);
  return channel;
}

Status AddGroup(JobPlan& job, uint32_t phase, uint32_t number, std::vector<uint32_t> members,
                QueuePairNumbers& numbers) {
  const std::string where = fmt::format("job {}, phase {}, group {}", job.options.name,
                                        job.options.phases[phase].name, number);
  const auto index = static_cast<uint32_t>(job.groups.size());
  for (const uint32_t rank : members) {
    if (rank >= job.nics.size() || job.group_of[phase][rank] != JobPlan::kNoGroup) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: rank {} is not in the job (which has {} ranks) or is in two groups",
                      where, rank, job.nics.size()));
    }
    job.group_of[phase][rank] = index;
  }
  sim::CollectiveOptions collective = job.options.phases[phase].collective;
  collective.ranks = static_cast<uint32_t>(members.size());
  Result<sim::Plan> plan = sim::MakePlan(collective);
  if (!plan) {
    return MakeError(plan.error().code, fmt::format("{}: {}", where, plan.error().message));
  }
  if (Status checked = CheckPlan(*plan, where); !checked) return checked;
  Group group{.phase = phase, .number = number, .members = std::move(members)};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;  // channels by ranks
  for (const auto& transfer : plan->transfers()) {
    const uint32_t from = group.members[transfer.from];
    const uint32_t to = group.members[transfer.to];
    if (job.hosts[from] == job.hosts[to]) {
      group.channel_of.push_back(Group::kWithinHost);
      continue;
    }
    const auto [at, fresh] =
        known.try_emplace({from, to}, static_cast<uint32_t>(job.channels.size()));
    if (fresh) job.channels.push_back(MakeChannel(job, index, from, to, numbers));
    group.channel_of.push_back(at->second);
  }
  group.plan = std::move(*plan);
  job.groups.push_back(std::move(group));
  return {};
}

}  // namespace

QueuePairEnd QueuePairNumbers::Choose(topology::NicIndex nic, uint64_t key) {
  uint64_t hash = HashOf(options_.seed, {options_.start_number, key});
  std::set<uint32_t>& used = used_[nic];
  uint32_t qpn = 0;
  for (;; hash = Mix64(hash + 1)) {
    // The highest number is that of multicast (IBTA vol. 1, 3.5.3).
    qpn = kFirstQpn + static_cast<uint32_t>((hash >> 32) % (k24BitMask - kFirstQpn));
    if (used.insert(qpn).second) break;
  }
  hash = Mix64(hash);
  return {.qpn = Qpn{qpn},
          .first_psn = options_.random_first_psn ? static_cast<uint32_t>(hash) & k24BitMask : 0,
          .udp_source_port = static_cast<uint16_t>(kFirstSourcePort | (hash >> 32 & 0x3fff))};
}

Result<JobPlan> PrepareJob(const topology::Fabric& fabric, const JobOptions& options,
                           QueuePairNumbers& numbers) {
  JobPlan job{.options = options, .seed = HashCombine(numbers.options().seed, options.id)};
  for (const topology::GpuIndex index : options.gpus) {
    const topology::Gpu& gpu = fabric.gpu(index);
    if (gpu.nic == topology::kNone) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("job {}: the nearest NIC of GPU {} of {} is unknown",
                                   options.name, gpu.number, fabric.node(gpu.host).name));
    }
    job.nics.push_back(gpu.nic);
    job.hosts.push_back(gpu.host);
  }
  job.group_of.assign(options.phases.size(),
                      std::vector<uint32_t>(job.nics.size(), JobPlan::kNoGroup));
  for (uint32_t phase = 0; phase < options.phases.size(); ++phase) {
    if (!options.phases[phase].has_collective) continue;
    std::vector<std::vector<uint32_t>> groups = options.phases[phase].groups;
    if (groups.empty()) {
      groups.emplace_back(job.nics.size());
      std::iota(groups[0].begin(), groups[0].end(), 0);
    }
    for (uint32_t number = 0; number < groups.size(); ++number) {
      Status added = AddGroup(job, phase, number, std::move(groups[number]), numbers);
      if (!added) return tl::unexpected(added.error());
    }
  }
  return job;
}

}  // namespace rocescope::endpoint
