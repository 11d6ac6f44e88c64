// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: identifies the host of an rdma dump and the addresses of its queue
// pairs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/job/host_facts.h"
#include "analytics/job/host_index.h"

namespace rocescope {

class DumpHost {
 public:
  // Keeps a reference to `hosts`.
  DumpHost(const RdmaDump& dump, const HostIndex& hosts);

  // Empty: the address of the queue pair's NIC is unknown.
  std::vector<IpAddress> AddressesOf(const RdmaQueuePair& qp) const;

  // Ranks of the process in all jobs.
  std::vector<RankPlace> RanksOf(uint64_t process_id) const;

 private:
  std::optional<IpAddress> literal_;  // set if the dump is named after an address
  std::vector<const HostEntry*> entries_;
  bool knows_ports_ = false;            // the addresses of some port are known
  std::vector<IpAddress> of_host_;      // of all ports, ascending
  std::vector<IpAddress> out_of_band_;  // ascending
};

}  // namespace rocescope
