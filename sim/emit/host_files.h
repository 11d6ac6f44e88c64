// SPDX-License-Identifier: BSD-3-Clause
// What hosts and the scheduler would say of the jobs: NCCL's logs, `rdma resource show qp`, Slurm's
// squeue. From plain values, so that any workload can tell them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/qpn.h"
#include "base/result.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// A process with one GPU.
struct LoggedRank {
  topology::GpuIndex gpu = 0;
  uint32_t process_id = 0;   // unique in its host
  uint32_t cuda_device = 0;  // as the process counts GPUs
  uint32_t nvml_device = 0;  // as the host does
};

struct LoggedCommunicator {
  uint64_t id = 0;              // commId: of ncclGetUniqueId, or of a split
  std::vector<uint32_t> ranks;  // the job's, by rank in the communicator
  // Of ncclCommSplit, which is in NCCL 2.18 and later: where in LoggedJob, before it.
  std::optional<uint32_t> parent;
  int color = 0;
};

// Over which one rank sends data to another; several queue pairs as NCCL_IB_QPS_PER_CONNECTION
// says.
struct LoggedConnection {
  struct QueuePair {
    Qpn sender;  // each end's own number
    Qpn receiver;
  };
  uint32_t communicator = 0;  // where in LoggedJob
  uint32_t from = 0;          // ranks in the communicator
  uint32_t to = 0;
  uint32_t channel = 0;
  topology::NicIndex sender = 0;
  topology::NicIndex receiver = 0;
  std::vector<QueuePair> queue_pairs;
  uint32_t fifo_rkey = 0;  // under which the receiver writes clear-to-sends to the sender
};

struct LoggedJob {
  uint64_t id = 0;  // the scheduler's
  std::string name;
  std::string user = "trainer";
  Timestamp start;
  std::vector<LoggedRank> ranks;  // by rank
  std::vector<LoggedCommunicator> communicators;
  std::vector<LoggedConnection> connections;
  uint32_t mtu = 4096;  // octets
};

// A queue pair of something else: a benchmark, storage.
struct LoggedQueuePair {
  topology::NicIndex nic = 0;
  Qpn local;
  Qpn remote;
  uint32_t process_id = 0;
  std::string command;  // "ib_write_bw"
};

// Releases whose logs can be written: 2.14, 2.18, 2.20, 2.22, 2.24, 2.27, 2.30.
struct NcclRelease {
  int minor = 0;
  std::string_view version;  // "2.20.5+cuda12.4"
};
std::span<const NcclRelease> NcclReleases();
// "2.20". The error names those that there are.
Result<NcclRelease> FindNcclRelease(std::string_view name);

// The log of a rank's process with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET, from its start.
std::string RenderNcclLog(const topology::Fabric& fabric, const LoggedJob& job, uint32_t rank,
                          const NcclRelease& release);

// `rdma -j resource show qp` of a host, just after the jobs connected.
std::string RenderRdma(const topology::Fabric& fabric, topology::NodeIndex host,
                       std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others);

// `squeue --json` of Slurm 21.08.
std::string RenderSlurm(const topology::Fabric& fabric, std::span<const LoggedJob> jobs);

struct HostFilesOptions {
  std::optional<NcclRelease> nccl;  // none: no logs
  bool rdma = true;
  bool slurm = true;
  Timestamp rdma_time;  // in its files' names
};
// nccl/<host>-<pid>.log, rdma/<host>.<ns>.json and slurm.json in `directory`, which exists.
Status WriteHostFiles(const std::string& directory, const topology::Fabric& fabric,
                      std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others,
                      const HostFilesOptions& options);

}  // namespace rocescope::sim
