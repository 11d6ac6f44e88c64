// SPDX-License-Identifier: BSD-3-Clause
// NCCL logs of many processes, put together: communicators, the jobs they form, and every rank with
// its GPU, host, NICs and queue pairs.
//
// A job is a set of processes that communicators connect; its ranks are numbered as in its largest
// communicator. The result does not depend on the order of the logs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/host/nccl_log.h"
#include "analytics/job/qp_peer.h"

namespace rocescope {

// Ranks in the job's numbering; -1: not known, or not in the job's largest communicator. Of those
// that are not in it but have a log, the index into Job::ranks.
struct JobPeer {
  int own_rank = -1;
  int peer_rank = -1;
  int own_member = -1;
  int peer_member = -1;

  friend constexpr auto operator<=>(const JobPeer&, const JobPeer&) = default;
};

// A port of an RDMA device: "mlx5_0", 1.
struct NicPort {
  std::string device;
  int port = 0;

  friend auto operator<=>(const NicPort&, const NicPort&) = default;
};

struct JobQueuePair {
  Qpn local;
  std::optional<Qpn> remote;  // where the log pairs them
  NcclQueuePairRole role = NcclQueuePairRole::kUnknown;
  std::string device;  // "mlx5_0"; empty: not printed
  int port = 0;
  // The local end's: printed with it, or that of its device if another log of the host tells one.
  std::optional<IpAddress> address;
  uint32_t mtu = 0;        // octets; 0: not printed
  uint32_t fifo_rkey = 0;  // of the sender's clear-to-send FIFO; 0: not printed
  int communicator = -1;   // index into Job::communicators
  int channel = -1;
  JobPeer peer;  // own_rank differs from the owner's with PXN
  PeerCertainty certainty = PeerCertainty::kAmbiguous;
  // Ascending. Ambiguous: whom it may serve; empty: anybody. Ordered: whom the order could confuse.
  // Else null.
  std::shared_ptr<const std::vector<JobPeer>> candidates;
  bool is_sender = false;  // data flows from this end
  bool may_be_loopback = false;
  size_t line = 0;  // in the source
};

struct JobRank {
  int rank = -1;
  std::string host;
  uint64_t process_id = 0;
  int cuda_device = -1;
  int nvml_device = -1;
  std::string gpu_bus_id;  // "0000:1b:00.0"
  std::string oob_interface;
  std::optional<IpAddress> oob_address;
  std::vector<NcclDevice> devices;  // that NCCL found on the host
  std::vector<NicPort> ports;       // of these, what its channels and queue pairs use; ascending
  // Of its ports, as far as any log of the host names them; ascending.
  std::vector<IpAddress> addresses;
  bool addresses_complete = false;  // nobody's log leaves one of its ports without an address
  std::vector<JobQueuePair> queue_pairs;
  std::vector<int> receives_from;  // ranks that its log says send to it over RDMA, ascending
  std::vector<NcclError> errors;   // of the process; at its first rank if it has several
  std::string source;              // the log's name
};

struct CommunicatorMember {
  int rank = -1;        // in this communicator
  size_t job_rank = 0;  // index into Job::ranks
};

struct JobCommunicator {
  std::string id;  // "nccl-" and the commId in hex, or a hash of what stands in
  int rank_count = 0;
  std::vector<CommunicatorMember> members;  // ascending; those whose logs were given
  std::string parent_id;                    // of a split; empty: none, or unknown
  std::optional<int> color;
  bool matched_by_size = false;  // before 2.16 nothing names a communicator
  bool was_parted = false;       // from others of its size
  bool is_complete = true;       // every member finished its initialisation
  bool was_aborted = false;
};

// Who says that it is a job, in order of trust.
enum class JobIdentity : uint8_t {
  kNcclLog,    // its processes' logs: by communicators
  kKernel,     // its hosts' kernels: processes that talk to each other
  kScheduler,  // nodes that the scheduler gave it
  kWire,       // nobody: its NICs talk to each other in step
};

// As the scheduler has it.
struct JobAllocation {
  uint64_t id = 0;
  std::string name;
  std::string user;
};

struct Job {
  std::string id;  // of its largest communicator
  JobIdentity identity = JobIdentity::kNcclLog;
  std::optional<JobAllocation> allocation;     // in which all of it is; unset: none, or not known
  int rank_count = 0;                          // what that communicator says
  int ranks_seen = 0;                          // of these, with a log
  std::string nccl_version;                    // "2.20.5+cuda12.4"; empty: not printed
  std::vector<JobCommunicator> communicators;  // the largest first
  std::vector<JobRank> ranks;                  // ascending, those without a rank last
  std::vector<std::string> notes;              // what is missing, doubled or contradictory
};

// Packets went between this queue pair and somebody at `peer`.
struct QueuePairMeeting {
  IpAddress address;
  Qpn qpn;
  IpAddress peer;

  friend constexpr auto operator<=>(const QueuePairMeeting&, const QueuePairMeeting&) = default;
};

// What parts jobs of releases that do not name their communicators (sized_communicators.h).
struct JobEvidence {
  std::vector<QueuePairMeeting> meetings;  // ascending
  // The scheduler's job that the process is of; empty or std::nullopt: not known.
  std::function<std::optional<uint32_t>(const NcclProcess&)> allocation_of;
};

// The largest job first.
std::vector<Job> GroupJobs(const NcclLogs& logs, const JobEvidence& evidence = {});
std::vector<Job> GroupJobs(std::span<const NcclLog> logs, const JobEvidence& evidence = {});

// Whether evidence could make other jobs of these.
bool CouldBeParted(std::span<const Job> jobs);

}  // namespace rocescope
