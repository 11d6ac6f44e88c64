// SPDX-License-Identifier: BSD-3-Clause
// What hosts say of themselves.
#pragma once

#include <string>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/rdma_resource.h"

namespace rocescope {

// `rdma resource show qp` of one host.
struct RdmaDump {
  std::string host;  // as its file is named: a host name or an address
  std::vector<RdmaQueuePair> queue_pairs;
};

struct HostFacts {
  std::vector<Job> jobs;
  std::vector<RdmaDump> rdma;
};

}  // namespace rocescope
