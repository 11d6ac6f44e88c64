// SPDX-License-Identifier: BSD-3-Clause
// What happened in a run, for the ground truth. Both models of the simulator fill it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/benign/benign.h"
#include "sim/fault/injector.h"
#include "sim/scenario/scenario.h"
#include "sim/truth/recorder.h"
#include "sim/workload/job.h"

namespace rocescope::sim {

class Simulation;

struct Outcome {
  struct JobStart {
    std::vector<Job::Iteration> iterations;
    std::vector<Job::Break> breaks;
    bool stopped = false;  // a crash or an end stopped it
  };
  struct Frames {
    uint64_t sent = 0;
    uint64_t delivered = 0;
    uint64_t in_flight = 0;
    std::vector<std::pair<std::string, uint64_t>> lost;  // causes with losses
  };

  std::vector<JobStart> starts;                    // as Simulation::jobs()
  std::vector<std::vector<Recorder::Path>> paths;  // indexed by the sender's queue pair
  std::vector<Injector::Happened> faults;          // in the order of the scenario
  std::vector<Recorder::Queue> queues;             // congested
  Frames frames;
  std::vector<BenignEvent> benign;  // without those of jobs, TCP traffic and GPUs
  // Frames that the jobs retransmitted before UntilOfVictims of each fault; indexed by fault, then
  // by job of the scenario.
  std::vector<std::vector<uint64_t>> retransmitted;
};

// The outcome of a complete run of the packet model.
Outcome OutcomeOf(Simulation& simulation);

// What the fault affected: "25 frames affected". Empty if its kind counts nothing in this model.
std::string AffectedText(const Injector::Happened& fault, Model model);

}  // namespace rocescope::sim
