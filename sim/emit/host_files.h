// SPDX-License-Identifier: BSD-3-Clause
// Writes what hosts and the scheduler report about the jobs: NCCL logs, `rdma resource show qp` and
// Slurm's squeue. The input is plain values, so that any workload can use it.
#pragma once

#include <chrono>
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

// One process with one GPU.
struct LoggedRank {
  topology::GpuIndex gpu = 0;
  uint32_t process_id = 0;   // unique on its host
  uint32_t cuda_device = 0;  // index among the GPUs of the process
  uint32_t nvml_device = 0;  // index among the GPUs of the host
};

struct LoggedCommunicator {
  uint64_t id = 0;              // commId: from ncclGetUniqueId or of a split
  std::vector<uint32_t> ranks;  // ranks of the job, by rank in the communicator
  // Set for a communicator made by ncclCommSplit (NCCL 2.18 and later): index of the parent in
  // LoggedJob, which is lower.
  std::optional<uint32_t> parent;
  int color = 0;
};

// A connection over which one rank sends data to another. NCCL_IB_QPS_PER_CONNECTION sets the
// number of its queue pairs.
struct LoggedConnection {
  struct QueuePair {
    Qpn sender;  // QPN at each end
    Qpn receiver;
    // First PSN of the requests that each end sends. NCCL uses 0.
    uint32_t sender_psn = 0;
    uint32_t receiver_psn = 0;
  };
  uint32_t communicator = 0;  // index in LoggedJob
  uint32_t from = 0;          // ranks in the communicator
  uint32_t to = 0;
  uint32_t channel = 0;
  topology::NicIndex sender = 0;
  topology::NicIndex receiver = 0;
  std::vector<QueuePair> queue_pairs;
  uint32_t fifo_rkey = 0;  // rkey that the receiver uses to write clear-to-sends to the sender
};

enum class LoggedState : uint8_t {
  kPending,  // starts later
  kRunning,
  kCompleted,
  kTimeout,  // reached its time limit
};

struct LoggedJob {
  uint64_t id = 0;  // job id of the scheduler
  std::string name;
  std::string user = "trainer";
  Timestamp start;
  LoggedState state = LoggedState::kRunning;
  // When a completed job ended. Other jobs end at their time limit.
  std::optional<Timestamp> completed;
  Duration time_limit = std::chrono::hours(31 * 24);  // a whole number of minutes in Slurm
  std::vector<LoggedRank> ranks;                      // indexed by rank
  std::vector<LoggedCommunicator> communicators;
  std::vector<LoggedConnection> connections;
  uint32_t mtu = 4096;  // bytes
};

// A queue pair of another program, for example a benchmark or storage.
struct LoggedQueuePair {
  topology::NicIndex nic = 0;
  Qpn local;
  Qpn remote;
  uint32_t process_id = 0;
  std::string command;  // "ib_write_bw"
};

// The supported releases are 2.14, 2.18, 2.20, 2.22, 2.24, 2.27 and 2.30.
struct NcclRelease {
  int minor = 0;
  std::string_view version;  // "2.20.5+cuda12.4"
};
std::span<const NcclRelease> NcclReleases();
// `name` is for example "2.20". The error lists the supported releases.
Result<NcclRelease> FindNcclRelease(std::string_view name);

// What a log with NCCL_DEBUG=INFO contains.
enum class NcclLogContent : uint8_t {
  kQueuePairs,  // NCCL_DEBUG_SUBSYS=INIT,NET: also the lines of the subsystem NET
  kChannels,    // NCCL_DEBUG_SUBSYS is unset: ranks, devices and channels, but no queue pair
};

// Returns the log of the rank's process, from its start.
std::string RenderNcclLog(const topology::Fabric& fabric, const LoggedJob& job, uint32_t rank,
                          const NcclRelease& release,
                          NcclLogContent content = NcclLogContent::kQueuePairs);

// Returns the output of `rdma -j resource show qp` on a host just after the jobs connected.
std::string RenderRdma(const topology::Fabric& fabric, topology::NodeIndex host,
                       std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others);

// Returns the jobs as `squeue --json` of Slurm 21.08 prints them. Ended jobs are included, which
// squeue prints for some minutes (MinJobAge in slurm.conf).
std::string RenderSlurm(const topology::Fabric& fabric, std::span<const LoggedJob> jobs);

struct HostFilesOptions {
  std::optional<NcclRelease> nccl;  // unset: no logs
  NcclLogContent nccl_content = NcclLogContent::kQueuePairs;
  bool rdma = true;
  bool slurm = true;
  Timestamp rdma_time;  // part of the file names
};
// Writes nccl/<host>-<pid>.log, rdma/<host>.<ns>.json and slurm.json in `directory`, which must
// exist.
Status WriteHostFiles(const std::string& directory, const topology::Fabric& fabric,
                      std::span<const LoggedJob> jobs, std::span<const LoggedQueuePair> others,
                      const HostFilesOptions& options);

}  // namespace rocescope::sim
