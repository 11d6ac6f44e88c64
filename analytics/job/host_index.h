// SPDX-License-Identifier: BSD-3-Clause
// What the logs of all processes tell about each host: which addresses the ports of its NICs have,
// and which ranks its processes are. A sender's log alone names an address, but every process of
// the host that uses the NIC has it.
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

namespace rocescope {

// A rank of a job: index into the jobs, and into Job::ranks.
struct RankPlace {
  uint32_t job = 0;
  uint32_t member = 0;

  friend constexpr auto operator<=>(const RankPlace&, const RankPlace&) = default;
};

struct HostEntry {
  std::string name;                                  // as its logs print it
  std::map<NicPort, std::set<IpAddress>> addresses;  // without a device: of none that is known
  std::set<IpAddress> out_of_band;
  std::multimap<uint64_t, RankPlace> processes;
};

class HostIndex {
 public:
  explicit HostIndex(const std::vector<Job>& jobs, std::span<const HostNic> nics = {});

  // Hosts that `name` may mean: usually one. Two logs may spell one host's name differently.
  std::vector<const HostEntry*> Find(std::string_view name) const;

  // Hosts that have the address, out of band or not. More than one: tenants, or copies of a name.
  std::vector<const HostEntry*> At(const IpAddress& address) const;

  // Of a port of a NIC, ascending. Empty: no log tells.
  std::vector<IpAddress> AddressesOf(std::string_view host, const NicPort& port) const;

  // Where a rank's queue pair may be: at its own address, else at the rank's, its NICs', or the
  // out-of-band address, which often belongs to the same NIC.
  std::vector<IpAddress> PossibleAddresses(const JobRank& rank, const JobQueuePair& qp) const;
  std::vector<IpAddress> PossibleAddresses(const JobRank& rank) const;

 private:
  HostEntry& Entry(std::string_view name);

  std::map<std::string, std::vector<uint32_t>, std::less<>> by_key_;  // HostKey; into hosts_
  std::vector<HostEntry> hosts_;
  std::map<IpAddress, std::vector<uint32_t>> by_address_;
};

}  // namespace rocescope
