// SPDX-License-Identifier: BSD-3-Clause
// A job of a plan file, and the values that are derived from it: the transfers of its collectives,
// its channels, and the numbers of their queue pairs. They depend only on the plan file, so all
// hosts derive the same values without communicating.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/qpn.h"
#include "base/result.h"
#include "base/time.h"
#include "sim/workload/collective.h"
#include "topology/fabric.h"

namespace rocescope::endpoint {

struct Phase {
  std::string name;
  Duration compute{};  // computation of each rank before the collective
  bool has_collective = true;
  sim::CollectiveOptions collective;
  std::vector<std::vector<uint32_t>> groups;  // ranks of the job; empty: one group with all
};

// The keys of a job in sim/scenario that the endpoint supports.
struct JobOptions {
  std::string name;
  uint64_t id = 1;
  std::vector<topology::GpuIndex> gpus;  // by rank
  std::vector<Phase> phases;
  uint32_t iterations = 0;  // 0: until the program ends
  Duration start{};         // after the begin of the plan
  double jitter = 0.02;     // standard deviation of the compute time, relative to its mean
  uint32_t queue_pairs = 1;
  bool split_data = false;
  uint64_t chunk = 512u << 10;
};

// One end of a queue pair.
struct QueuePairEnd {
  Qpn qpn;
  uint32_t first_psn = 0;
  uint16_t udp_source_port = 0;
};

// One direction between two ranks, for one communicator.
struct Channel {
  struct Pair {
    QueuePairEnd sender;  // sends the data
    QueuePairEnd receiver;
  };
  uint32_t group = 0;  // index in JobPlan::groups
  uint32_t from = 0;   // ranks of the job
  uint32_t to = 0;
  std::vector<Pair> pairs;
  uint32_t rkey = 0;       // key for the receive buffer
  uint32_t fifo_rkey = 0;  // of the sender's memory that receives clear-to-sends
  uint64_t buffer = 0;     // address of the receive buffer
  uint64_t fifo = 0;
};

struct Group {
  static constexpr uint32_t kWithinHost = UINT32_MAX;

  uint32_t phase = 0;
  uint32_t number = 0;            // within the phase
  std::vector<uint32_t> members;  // ranks of the job
  sim::Plan plan;
  std::vector<uint32_t> channel_of;  // by transfer: index in JobPlan::channels, or kWithinHost
};

struct JobPlan {
  static constexpr uint32_t kNoGroup = UINT32_MAX;

  JobOptions options;
  uint64_t seed = 0;
  std::vector<topology::NicIndex> nics;    // by rank
  std::vector<topology::NodeIndex> hosts;  // by rank
  std::vector<Group> groups;
  std::vector<std::vector<uint32_t>> group_of;  // by phase and rank: index in groups, or kNoGroup
  std::vector<Channel> channels;
};

// Chooses queue pair numbers and first PSNs. A number depends only on the seed and on `key`, except
// that a second queue pair of a NIC with the same number gets another one.
class QueuePairNumbers {
 public:
  struct Options {
    uint64_t seed = 1;
    uint32_t start_number = 0;  // another number gives other queue pair numbers and PSNs
    bool random_first_psn = true;
  };
  explicit QueuePairNumbers(const Options& options) : options_(options) {}

  const Options& options() const { return options_; }
  QueuePairEnd Choose(topology::NicIndex nic, uint64_t key);

 private:
  const Options options_;
  std::map<topology::NicIndex, std::set<uint32_t>> used_;
};

// The error names the job and the phase.
Result<JobPlan> PrepareJob(const topology::Fabric& fabric, const JobOptions& options,
                           QueuePairNumbers& numbers);

}  // namespace rocescope::endpoint
