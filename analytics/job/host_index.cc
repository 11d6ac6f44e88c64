// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_index.h"

namespace rocescope {

void HostEntry::AddAddress(const NicPort& port, const IpAddress& address) {
  auto at = addresses.find(port);
  if (at == addresses.end()) {
    if (addresses.size() >= kMaxPortsOfHost) return;
    at = addresses.try_emplace(port).first;
  }
  const size_t most = port.device.empty() ? kMaxAddressesOfUnknownPorts : kMaxAddressesOfPort;
  if (at->second.size() < most) at->second.insert(address);
}

void HostEntry::AddRank(uint64_t process_id, const RankPlace& rank) {
  std::vector<RankPlace>& ranks = processes[process_id];
  if (ranks.size() < kMaxRanksOfProcess) ranks.push_back(rank);
}

HostIndex::HostIndex(const std::vector<Job>& jobs, std::span<const HostNic> nics) {
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (uint32_t m = 0; m < jobs[j].ranks.size(); ++m) {
      const JobRank& rank = jobs[j].ranks[m];
      HostEntry& host = Entry(rank.host);
      host.AddRank(rank.process_id, {.job = j, .member = m});
      if (rank.oob_address) host.out_of_band.insert(*rank.oob_address);
      for (const IpAddress& address : rank.addresses) host.AddAddress({}, address);
      for (const JobQueuePair& qp : rank.queue_pairs) {
        if (qp.address) host.AddAddress({.device = qp.device, .port = qp.port}, *qp.address);
      }
    }
  }
  // RDMA devices in a topology file have one port each.
  constexpr int kOnlyPort = 1;
  for (const HostNic& nic : nics) {
    HostEntry& host = Entry(nic.host);
    for (const IpAddress& address : nic.addresses) {
      host.AddAddress({.device = nic.device, .port = kOnlyPort}, address);
    }
  }
  names_.Index();
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    std::set<IpAddress> all = hosts_[h].out_of_band;
    for (const auto& [port, addresses] : hosts_[h].addresses) {
      all.insert(addresses.begin(), addresses.end());
    }
    for (const IpAddress& address : all) by_address_[address].push_back(h);
  }
}

HostEntry& HostIndex::Entry(std::string_view name) {
  const uint32_t number = names_.Add(name);
  if (number == hosts_.size()) hosts_.push_back({.name = std::string(name)});
  return hosts_[number];
}

std::vector<const HostEntry*> HostIndex::Find(std::string_view name) const {
  std::vector<const HostEntry*> found;
  for (const uint32_t h : names_.Find(name)) found.push_back(&hosts_[h]);
  return found;
}

std::vector<const HostEntry*> HostIndex::At(const IpAddress& address) const {
  std::vector<const HostEntry*> found;
  const auto at = by_address_.find(address);
  if (at == by_address_.end()) return found;
  for (const uint32_t h : at->second) found.push_back(&hosts_[h]);
  return found;
}

std::vector<IpAddress> HostIndex::AddressesOf(std::string_view host, const NicPort& port) const {
  std::set<IpAddress> all;
  for (const HostEntry* entry : Find(host)) {
    const auto at = entry->addresses.find(port);
    if (at != entry->addresses.end()) all.insert(at->second.begin(), at->second.end());
  }
  return {all.begin(), all.end()};
}

std::vector<IpAddress> HostIndex::PossibleAddresses(const JobRank& rank,
                                                    const JobQueuePair& qp) const {
  if (qp.address) return {*qp.address};
  return PossibleAddresses(rank);
}

std::vector<IpAddress> HostIndex::PossibleAddresses(const JobRank& rank) const {
  if (!rank.addresses.empty()) return rank.addresses;
  std::set<IpAddress> all;
  for (const NcclDevice& device : rank.devices) {
    const auto found = AddressesOf(rank.host, {.device = device.name, .port = device.port});
    all.insert(found.begin(), found.end());
  }
  if (all.empty() && rank.oob_address) all.insert(*rank.oob_address);
  return {all.begin(), all.end()};
}

}  // namespace rocescope
