// SPDX-License-Identifier: BSD-3-Clause
// A scenario before it is text: short, since its fabric and its groups of ranks are named, not
// listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/time.h"
#include "sim/fault/fault.h"
#include "sim/host/queue_pair.h"
#include "sim/workload/collective.h"
#include "topology/generate.h"

namespace rocescope::sim {

struct Outline {
  struct Phase {
    std::string name;
    CollectiveKind collective = CollectiveKind::kRing;
    uint64_t bytes = 0;
    SimTime compute = 0;
    bool rails = false;                         // groups: the ranks of a rail; else those below
    std::vector<std::vector<uint32_t>> groups;  // of ranks; empty: one of all
  };
  struct Job {
    std::string name;
    std::vector<uint32_t> hosts;  // by number, in the order of their ranks
    uint32_t gpus = 0;            // of each host
    uint32_t queue_pairs = 1;
    bool split_data = false;
    SimTime start = 0;
    std::vector<Phase> phases;
    SimTime period = 0;  // of an iteration, about
  };
  struct Stream {
    uint32_t from_host = 0;
    uint32_t from_nic = 0;
    uint32_t to_host = 0;
    uint32_t to_nic = 0;
    Verb verb = Verb::kWrite;
    uint64_t message = 1u << 20;  // octets
    double load = 0.1;
  };

  std::string name;
  std::string about;
  uint64_t seed = 1;
  SimTime duration = 0;
  topology::Blueprint fabric;
  std::optional<double> alpha;  // of the switches' buffers, where it is not as usual
  std::vector<Job> jobs;
  std::vector<Stream> streams;
  std::optional<FaultOptions> fault;  // its places are the generated fabric's
  std::string nccl;                   // release of the logs: "2.20"
};

// The YAML that LoadScenario reads. `fabric` is what the outline's blueprint generates.
std::string WriteOutline(const Outline& outline, const topology::Fabric& fabric);

}  // namespace rocescope::sim
