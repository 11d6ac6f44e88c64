// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/allocation_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

// Slurm's times are in whole seconds.
constexpr Duration kSecond = std::chrono::seconds(1);

// Whether the job held its nodes at any time in this period.
bool HeldNodes(const Allocation& allocation, Timestamp from, Timestamp until) {
  if (allocation.start && until < *allocation.start) return false;
  if (allocation.state != AllocationState::kEnded || !allocation.end) return true;
  return from <= *allocation.end + kSecond;
}

bool SamePci(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; };
  return !a.empty() && std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

AllocationIndex::AllocationIndex(const HostFacts& facts, const HostIndex& hosts)
    : facts_(facts), hosts_(hosts) {
  if (facts.allocations.empty()) return;
  for (uint32_t g = 0; g < facts.gpus.size(); ++g) {
    const uint32_t host = gpu_hosts_.Add(facts.gpus[g].host);
    if (host == gpus_.size()) gpus_.emplace_back();
    gpus_[host].push_back(g);
  }
  gpu_hosts_.Index();
  for (uint32_t a = 0; a < facts.allocations.size(); ++a) {
    for (uint32_t n = 0; n < facts.allocations[a].nodes.size(); ++n) {
      Add({.allocation = a, .node = n});
    }
  }
  node_names_.Index();
}

std::vector<const HostGpu*> AllocationIndex::GpusOf(std::string_view host) const {
  std::vector<const HostGpu*> found;
  for (const uint32_t name : gpu_hosts_.Find(host)) {
    for (const uint32_t g : gpus_[name]) found.push_back(&facts_.gpus[g]);
  }
  std::ranges::sort(found);  // by number: they are elements of one list
  return found;
}

void AllocationIndex::Add(const Place& place) {
  const uint32_t allocation = place.allocation;
  const AllocatedNode& node = facts_.allocations[allocation].nodes[place.node];
  ++count_;
  const uint32_t name = node_names_.Add(node.name);
  if (name == nodes_.size()) nodes_.emplace_back();
  nodes_[name].push_back(place);
  const std::vector<const HostGpu*> gpus = GpusOf(node.name);
  std::map<IpAddress, Nic> nics;
  for (const HostEntry* entry : hosts_.Find(node.name)) {
    for (const auto& [port, addresses] : entry->addresses) {
      for (const IpAddress& address : addresses) {
        Nic& nic = nics[address];
        nic.host = entry->name;
        if (!port.device.empty()) nic.device = port.device;
      }
    }
  }
  if (nics.empty()) ++unplaced_;
  for (const auto& [address, nic] : nics) {
    Holding holding = {.allocation = allocation};
    int near = 0;
    for (const HostGpu* gpu : gpus) {
      if (gpu->device.empty() || gpu->device != nic.device || node.gpus.empty()) continue;
      if (holding.nearness == Holding::Nearness::kUnknown) {
        holding.nearness = Holding::Nearness::kOther;
      }
      if (!std::ranges::binary_search(node.gpus, gpu->number)) continue;
      holding.nearness = Holding::Nearness::kNear;
      holding.gpu = ++near == 1 ? static_cast<int>(gpu->number) : -1;
    }
    std::vector<Holding>& at = at_[address];
    const auto [known, is_first] = nics_.emplace(address, nic);
    const bool is_other = !is_first && !SameHost(known->second.host, nic.host);
    if (is_other) known->second.host.clear();  // tenants share the address
    if (at.empty() || at.back().allocation != allocation) at.push_back(holding);
  }
}

std::span<const Holding> AllocationIndex::At(const IpAddress& address) const {
  if (NicAt(address) == nullptr) return {};
  return at_.at(address);
}

const AllocationIndex::Nic* AllocationIndex::NicAt(const IpAddress& address) const {
  const auto at = nics_.find(address);
  return at == nics_.end() || at->second.host.empty() ? nullptr : &at->second;
}

std::string AllocationIndex::PciOf(std::string_view host, int gpu) const {
  for (const HostGpu* known : GpusOf(host)) {
    if (gpu >= 0 && known->number == static_cast<uint32_t>(gpu)) return known->pci;
  }
  return {};
}

AllocationAnswer AllocationIndex::Of(const Connection& connection) const {
  const std::span<const Holding> a = At(connection.endpoints[0].address);
  const std::span<const Holding> b = At(connection.endpoints[1].address);
  AllocationAnswer answer;
  auto best = Holding::Nearness::kOther;
  size_t fitting = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].allocation != b[j].allocation) {
      ++(a[i].allocation < b[j].allocation ? i : j);
      continue;
    }
    const uint32_t allocation = a[i].allocation;
    const Holding::Nearness nearness = std::min(a[i++].nearness, b[j++].nearness);
    if (!HeldNodes(facts_.allocations[allocation], connection.valid_from, connection.last_seen)) {
      continue;
    }
    ++fitting;
    if (answer.allocation && nearness <= best) {
      answer.is_ambiguous |= nearness == best;
      continue;
    }
    answer.is_ambiguous = false;
    answer.allocation = allocation;
    best = nearness;
  }
  if (answer.is_ambiguous) answer.allocation.reset();
  if (!answer.allocation) return answer;
  answer.confidence = fitting > 1                        ? kAllocatedShared
                      : best == Holding::Nearness::kNear ? kAllocatedGpus
                                                         : kAllocatedNodes;
  return answer;
}

// Ascending. GPU numbers within a process or cgroup differ from the host's; PCI addresses do not.
std::vector<uint32_t> AllocationIndex::HoldersOf(const JobRank& rank) const {
  std::vector<uint32_t> holders;
  std::vector<Place> places;
  for (const uint32_t name : node_names_.Find(rank.host)) {
    places.insert(places.end(), nodes_[name].begin(), nodes_[name].end());
  }
  if (places.empty()) return holders;
  std::ranges::sort(places);
  const std::vector<const HostGpu*> gpus = GpusOf(rank.host);
  const auto gpu = std::ranges::find_if(
      gpus, [&](const HostGpu* known) { return SamePci(known->pci, rank.gpu_bus_id); });
  for (const Place& place : places) {
    const AllocatedNode& node = facts_.allocations[place.allocation].nodes[place.node];
    const bool is_within = node.gpus.empty() || gpu == gpus.end() ||
                           std::ranges::binary_search(node.gpus, (*gpu)->number);
    if (!is_within || (!holders.empty() && holders.back() == place.allocation)) continue;
    holders.push_back(place.allocation);
  }
  return holders;
}

AllocationsOfJob AllocationIndex::Of(const Job& job, const std::optional<SeenTime>& seen) const {
  AllocationsOfJob found;
  if (empty() || job.ranks.empty()) return found;
  found.all = HoldersOf(job.ranks[0]);
  for (const JobRank& rank : job.ranks) {
    const std::vector<uint32_t> holders = HoldersOf(rank);
    std::erase_if(found.all, [&](uint32_t a) { return !std::ranges::binary_search(holders, a); });
  }
  if (seen) {
    std::erase_if(found.all, [&](uint32_t a) {
      return !HeldNodes(facts_.allocations[a], seen->from, seen->until);
    });
  }
  const auto is_ended = [&](uint32_t a) {
    return facts_.allocations[a].state == AllocationState::kEnded;
  };
  found.preferred = found.all;
  if (!std::ranges::all_of(found.all, is_ended)) std::erase_if(found.preferred, is_ended);
  return found;
}

std::string AllocationIndex::NoteOn(const std::vector<uint32_t>& several) const {
  return fmt::format(
      "its hosts belong to {} scheduler allocations, for example {} "
      "and {}: the job is not matched to any of them",
      several.size(), facts_.allocations[several[0]].id, facts_.allocations[several[1]].id);
}

std::vector<std::string> AllocationIndex::Notes() const {
  std::vector<std::string> notes;
  if (unplaced_ == 0) return notes;
  notes.push_back(
      fmt::format("scheduler: {} of {} allocated nodes are not used, because neither the topology "
                  "nor a NCCL log contains an address of them",
                  unplaced_, count_));
  return notes;
}

}  // namespace rocescope
