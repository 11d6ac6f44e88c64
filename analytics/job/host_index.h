// SPDX-License-Identifier: BSD-3-Clause
// Indexes what all logs report about each host: the addresses of its NIC ports and the ranks of its
// processes. Only the sender's log prints an address, but it applies to every process of the host
// that uses the NIC.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/host_facts.h"
#include "analytics/job/host_names.h"

namespace rocescope {

// A rank of a job: index into the jobs, and into Job::ranks.
struct RankPlace {
  uint32_t job = 0;
  uint32_t member = 0;

  friend constexpr auto operator<=>(const RankPlace&, const RankPlace&) = default;
};

// Limits for what one host reports. The analysis combines addresses with ranks and queue pairs, so
// that without them a small log could take unbounded time and memory.
inline constexpr size_t kMaxPortsOfHost = 128;
inline constexpr size_t kMaxAddressesOfPort = 32;
inline constexpr size_t kMaxAddressesOfUnknownPorts = 256;  // addresses of a host without a device
inline constexpr size_t kMaxAddressesOfRank = 256;
inline constexpr size_t kMaxRanksOfProcess = 256;  // in all jobs

struct HostEntry {
  // Addresses and ranks beyond the limits are ignored.
  void AddAddress(const NicPort& port, const IpAddress& address);
  void AddRank(uint64_t process_id, const RankPlace& rank);

  std::string name;  // name as printed in its logs
  // An entry without a device contains addresses of unknown devices.
  std::map<NicPort, std::set<IpAddress>> addresses;
  std::set<IpAddress> out_of_band;
  // Ranks by process ID, at most kMaxRanksOfProcess of each.
  std::map<uint64_t, std::vector<RankPlace>> processes;
};

class HostIndex {
 public:
  explicit HostIndex(const std::vector<Job>& jobs, std::span<const HostNic> nics = {});

  // Returns the hosts that `name` can refer to, usually one and at most HostNames::kMaxMatches. Two
  // logs may spell the name of one host differently.
  std::vector<const HostEntry*> Find(std::string_view name) const;

  // Returns the hosts with this address, including out-of-band addresses. Several hosts: tenants,
  // or duplicate names.
  std::vector<const HostEntry*> At(const IpAddress& address) const;

  // Returns the addresses of a NIC port, ascending. Empty: unknown.
  std::vector<IpAddress> AddressesOf(std::string_view host, const NicPort& port) const;

  // Returns the possible addresses of a rank's queue pair: its own address, otherwise those of the
  // rank, its NICs, or the out-of-band address, which often belongs to the same NIC.
  std::vector<IpAddress> PossibleAddresses(const JobRank& rank, const JobQueuePair& qp) const;
  std::vector<IpAddress> PossibleAddresses(const JobRank& rank) const;

 private:
  HostEntry& Entry(std::string_view name);

  HostNames names_;
  std::vector<HostEntry> hosts_;  // by the number of the name
  std::map<IpAddress, std::vector<uint32_t>> by_address_;
};

}  // namespace rocescope
