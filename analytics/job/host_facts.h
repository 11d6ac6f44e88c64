// SPDX-License-Identifier: BSD-3-Clause
// Facts that hosts and schedulers report about jobs, processes, NICs and GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analytics/job/communicator.h"
#include "dataplane/host/allocation.h"
#include "dataplane/host/rdma_resource.h"

namespace rocescope {

class ChannelCandidates;

// The output of `rdma resource show qp` on one host.
struct RdmaDump {
  std::string host;  // name of its file: a host name or an address
  std::vector<RdmaQueuePair> queue_pairs;
};

// A GPU and its nearest NIC according to the topology.
struct HostGpu {
  std::string host;
  uint32_t number = 0;  // number as in nvidia-smi
  std::string pci;      // "0000:17:00.0"; empty: unknown
  std::string device;   // nearest NIC; empty: unknown
};

// A process's place in a job, from the environment variables that launchers set. -1: unknown.
struct HostProcess {
  std::string host;  // name as in RdmaDump
  uint64_t process_id = 0;
  int rank = -1;
  int gpu = -1;         // number as in nvidia-smi
  int world_size = -1;  // ranks of the job
};

struct HostFacts {
  std::vector<Job> jobs;
  // The logs from which the jobs were built, if observed traffic could change the grouping;
  // otherwise empty.
  NcclLogs logs;
  // Index of the channels of `jobs`, built once because it is large. Null: built when needed.
  std::shared_ptr<const ChannelCandidates> channels;
  std::vector<RdmaDump> rdma;
  std::vector<HostProcess> processes;
  std::vector<Allocation> allocations;  // sorted by ID
  std::vector<HostNic> nics;
  std::vector<HostGpu> gpus;
};

}  // namespace rocescope
