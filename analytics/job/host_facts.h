// SPDX-License-Identifier: BSD-3-Clause
// What hosts say of themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/host/allocation.h"
#include "analytics/job/communicator.h"
#include "dataplane/host/rdma_resource.h"

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

// A GPU and the NIC nearest to it, likewise.
struct HostGpu {
  std::string host;
  uint32_t number = 0;  // as nvidia-smi counts
  std::string pci;      // "0000:17:00.0"; empty: not known
  std::string device;   // of the NIC; empty: not known
};

// What a process's environment says of its place in a job, as launchers set it. -1: nothing.
struct HostProcess {
  std::string host;  // as in RdmaDump
  uint64_t process_id = 0;
  int rank = -1;
  int gpu = -1;         // as nvidia-smi counts
  int world_size = -1;  // ranks of the job
};

struct HostFacts {
  std::vector<Job> jobs;
  // Whence the jobs are, if what the fabric shows could make others of them; else none.
  NcclLogs logs;
  std::vector<RdmaDump> rdma;
  std::vector<HostProcess> processes;
  std::vector<Allocation> allocations;  // by id
  std::vector<HostNic> nics;
  std::vector<HostGpu> gpus;
};

}  // namespace rocescope
