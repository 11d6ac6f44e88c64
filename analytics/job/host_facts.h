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

// A NIC's addresses, as the fabric's description has them.
struct HostNic {
  std::string host;
  std::string device;  // "mlx5_0"
  std::vector<IpAddress> addresses;
};

struct HostFacts {
  std::vector<Job> jobs;
  std::vector<RdmaDump> rdma;
  std::vector<HostNic> nics;
};

}  // namespace rocescope
