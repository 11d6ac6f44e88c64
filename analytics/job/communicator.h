// SPDX-License-Identifier: BSD-3-Clause
// Combines NCCL logs of many processes into communicators and jobs, with the GPU, host, NICs and
// queue pairs of every rank.
//
// A job is a set of processes connected by communicators; its ranks are numbered as in its largest
// communicator. The result does not depend on the order of the logs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analytics/job/qp_peer.h"
#include "base/shared_list.h"
#include "dataplane/host/nccl_log.h"

namespace rocescope {

// Ranks in the job's numbering; -1: unknown, or not in the job's largest communicator. For a rank
// that has a log but is not in the largest communicator, the member is its index in Job::ranks.
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
  std::optional<Qpn> remote;  // if the log states it
  NcclQueuePairRole role = NcclQueuePairRole::kUnknown;
  std::string device;  // "mlx5_0"; empty: not printed
  int port = 0;
  // Address of the local end: printed with the queue pair, or the address of its device according
  // to another log of the host.
  std::optional<IpAddress> address;
  uint32_t mtu = 0;        // bytes; 0: not printed
  uint32_t fifo_rkey = 0;  // rkey of the sender's clear-to-send FIFO; 0: not printed
  int communicator = -1;   // index into Job::communicators
  int channel = -1;
  JobPeer peer;  // with PXN, own_rank differs from the owner's rank
  PeerCertainty certainty = PeerCertainty::kAmbiguous;
  // Possible peers, ascending. kAmbiguous: all candidates; empty: any rank. kOrdered: the peer, and
  // those that it would be if the connections were made in a different order. kExact: null.
  std::shared_ptr<const std::vector<JobPeer>> candidates;
  bool is_sender = false;  // this end sends data
  bool may_be_loopback = false;
  size_t line = 0;  // line number in the source
};

// The two ranks of a channel in a communicator.
struct JobChannelPeer {
  int communicator = -1;  // index into Job::communicators
  JobPeer peer;

  friend constexpr auto operator<=>(const JobChannelPeer&, const JobChannelPeer&) = default;
};

// One end of a network connection, from a channel line of the rank's log. The line contains no
// queue pair.
struct JobChannel {
  size_t line = 0;  // line number in the log
  int channel = -1;
  int connection = 0;   // connIndex
  int net_device = -1;  // key of JobRank::net_devices
  bool is_send = false;
  // One element for each communicator that the line can mean, ascending. Channels between the same
  // ranks share the list.
  SharedList<JobChannelPeer> possible;
};

inline constexpr size_t kMaxPortsOfNetDevice = 8;  // NCCL merges at most 4

struct JobRank {
  int rank = -1;
  std::string host;
  uint64_t process_id = 0;
  int cuda_device = -1;
  int nvml_device = -1;
  std::string gpu_bus_id;  // "0000:1b:00.0"
  std::string oob_interface;
  std::optional<IpAddress> oob_address;
  SharedList<NcclDevice> devices;  // found by NCCL on the host
  std::vector<NicPort> ports;      // ports used by the rank's channels and queue pairs, ascending
  // Known addresses of the rank's ports from all logs of the host, ascending.
  std::vector<IpAddress> addresses;
  bool addresses_complete = false;  // every port of the rank has a known address
  std::vector<JobQueuePair> queue_pairs;
  // Connections over RDMA that the rank's log reports, by line.
  std::vector<JobChannel> channels;
  // The NIC ports of each net device in `channels`, at most kMaxPortsOfNetDevice; none: the log
  // does not list the device.
  std::map<int, std::vector<NicPort>> net_devices;
  // Ranks that send to this rank over RDMA according to its log, ascending.
  std::vector<int> receives_from;
  // Errors of the process; listed at its first rank if it has several.
  std::vector<NcclError> errors;
  std::string source;  // name of the log
};

struct CommunicatorMember {
  int rank = -1;        // rank in this communicator
  size_t job_rank = 0;  // index into Job::ranks
};

struct JobCommunicator {
  std::string id;  // "nccl-" and the commId in hex, or a hash if there is no commId
  int rank_count = 0;
  std::vector<CommunicatorMember> members;  // ascending; only members with a log
  std::string parent_id;                    // parent of a split; empty: no parent, or unknown
  std::optional<int> color;
  bool matched_by_size = false;  // NCCL before 2.16 prints no identifier of a communicator
  bool was_parted = false;       // distinguished from others of the same size
  bool is_complete = true;       // every member completed its initialisation
  bool was_aborted = false;
};

// Source from which the job is known, most trusted first.
enum class JobIdentity : uint8_t {
  kNcclLog,    // NCCL logs of its processes, by communicators
  kKernel,     // rdma dumps: processes that communicate with each other
  kScheduler,  // an allocation of nodes by the scheduler
  kWire,       // traffic only: its NICs communicate synchronously
};

// The scheduler's data about a job.
struct JobAllocation {
  uint64_t id = 0;
  std::string name;
  std::string user;
};

struct Job {
  std::string id;  // ID of its largest communicator
  JobIdentity identity = JobIdentity::kNcclLog;
  bool is_other_traffic = false;  // no job, but traffic of programs without collectives
  // The allocation that contains the whole job; unset: none, or unknown.
  std::optional<JobAllocation> allocation;
  int rank_count = 0;                          // according to its largest communicator
  int ranks_seen = 0;                          // ranks with a log
  std::string nccl_version;                    // "2.20.5+cuda12.4"; empty: not printed
  std::vector<JobCommunicator> communicators;  // largest first
  std::vector<JobRank> ranks;                  // ascending; ranks without a number last
  std::vector<std::string> notes;              // missing, duplicate or contradictory information
};

// Packets were observed between this queue pair and an endpoint at `peer`.
struct QueuePairMeeting {
  IpAddress address;
  Qpn qpn;
  IpAddress peer;

  friend constexpr auto operator<=>(const QueuePairMeeting&, const QueuePairMeeting&) = default;
};

// Addresses of a NIC according to the topology.
struct HostNic {
  std::string host;
  std::string device;  // "mlx5_0"
  std::vector<IpAddress> addresses;
};

// Evidence that separates jobs of NCCL releases without communicator identifiers
// (sized_communicators.h).
struct JobEvidence {
  std::vector<QueuePairMeeting> meetings;  // ascending
  // Addresses of the sender and the receiver of data, ascending without duplicates. Together with
  // the addresses of the NICs, they separate jobs whose logs contain no queue pairs.
  std::vector<std::pair<IpAddress, IpAddress>> ways;
  std::span<const HostNic> nics;
  // Returns the scheduler's job of a process; an empty function or std::nullopt: unknown.
  std::function<std::optional<uint32_t>(const NcclProcess&)> allocation_of;
};

// Returns the jobs, largest first.
std::vector<Job> GroupJobs(const NcclLogs& logs, const JobEvidence& evidence = {});
std::vector<Job> GroupJobs(std::span<const NcclLog> logs, const JobEvidence& evidence = {});

// Adds the NIC addresses of ranks whose logs contain no queue pairs, and therefore no addresses.
void PlaceRanksOfDefaultLogs(std::vector<Job>& jobs, std::span<const HostNic> nics);

// Whether evidence could change the grouping of these jobs.
bool CouldBeParted(std::span<const Job> jobs);

}  // namespace rocescope
