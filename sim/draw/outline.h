// SPDX-License-Identifier: BSD-3-Clause
// A scenario before it is written as YAML. It is compact because the fabric and the rank groups are
// named, not listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/benign/benign.h"
#include "sim/engine/time.h"
#include "sim/fault/fault.h"
#include "sim/host/queue_pair.h"
#include "sim/scenario/scenario.h"
#include "sim/workload/collective.h"
#include "sim/workload/job.h"
#include "sim/workload/tcp_flow.h"
#include "topology/generate.h"

namespace rocescope::sim {

struct Outline {
  struct Phase {
    std::string name;
    CollectiveKind collective = CollectiveKind::kRing;
    uint64_t bytes = 0;
    SimTime compute = 0;
    bool rails = false;  // groups are the rails; otherwise `groups`
    // Ranks of each group; empty: one group with all ranks.
    std::vector<std::vector<uint32_t>> groups;
  };
  struct Interlude {
    std::string name;
    uint32_t after = 0;  // 0: `every`
    uint32_t every = 0;  // 0: only once
    SimTime pause = 0;   // the ranks only compute
  };
  struct Checkpoint {
    uint32_t every = 0;  // 0: none
    uint64_t bytes = 0;  // of each rank
    std::vector<uint32_t> hosts;
    uint32_t nics = 1;  // number of NICs that each host uses
    bool blocking = true;
  };
  struct Job {
    std::string name;
    std::vector<uint32_t> hosts;  // host numbers, in rank order
    uint32_t gpus = 0;            // per host
    uint32_t queue_pairs = 1;
    bool split_data = false;
    SimTime start = 0;
    SimTime end = kNever;
    std::vector<Phase> phases;
    std::vector<Interlude> interludes;
    Checkpoint checkpoint;
    std::vector<JobOptions::Restart> restarts;
    SimTime period = 0;  // approximate iteration period
  };
  struct Stream {
    uint32_t from_host = 0;
    uint32_t from_nic = 0;
    uint32_t to_host = 0;
    uint32_t to_nic = 0;
    Verb verb = Verb::kWrite;
    uint64_t message = 1u << 20;  // bytes
    double load = 0.1;
  };

  Model model = Model::kPacket;
  std::string name;
  std::string about;
  uint64_t seed = 1;
  SimTime duration = 0;
  topology::Blueprint fabric;
  std::optional<double> alpha;  // buffer alpha of the switches, if it differs from the default
  std::vector<Job> jobs;
  std::vector<Stream> streams;
  std::optional<double> lossy_alpha;
  bool spray = false;
  std::vector<FaultOptions> faults;  // locations refer to the generated fabric
  BenignOptions benign;
  std::vector<MaintenanceOptions> maintenance;
  std::vector<TcpFlow::Options> foreign;
  std::string nccl;              // NCCL release of the logs: "2.20"
  bool nccl_queue_pairs = true;  // whether the logs contain queue pair numbers
};

// Returns the YAML that LoadScenario reads. `fabric` is the fabric that the outline's blueprint
// generates.
std::string WriteOutline(const Outline& outline, const topology::Fabric& fabric);

}  // namespace rocescope::sim
