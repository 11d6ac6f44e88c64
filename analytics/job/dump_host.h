// SPDX-License-Identifier: BSD-3-Clause
// Which host a dump of `rdma resource` is of, and where its queue pairs are. Internal to this
// folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/job/host_facts.h"
#include "analytics/job/host_index.h"

namespace rocescope {

class DumpHost {
 public:
  // Keeps references to both.
  DumpHost(const RdmaDump& dump, const HostIndex& hosts);

  // Empty: nothing tells the address of the queue pair's NIC.
  std::vector<IpAddress> AddressesOf(const RdmaQueuePair& qp) const;

  // In all jobs.
  std::vector<RankPlace> RanksOf(uint64_t process_id) const;

 private:
  std::optional<IpAddress> literal_;  // the dump is named after an address
  std::vector<const HostEntry*> entries_;
};

}  // namespace rocescope
