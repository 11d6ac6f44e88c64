// SPDX-License-Identifier: BSD-3-Clause
// Victims of faults: jobs whose iterations take longer, or that retransmit more, than in the same
// run without the fault. Each visible fault costs one more run, without telemetry and only until
// the effect of the fault has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rocescope/v1/truth.pb.h"
#include "sim/run/outcome.h"
#include "sim/run/simulation.h"

namespace rocescope::sim {

// What a job did in a run while a fault lasted.
struct JobWork {
  struct Iteration {
    double time = 0;  // duration in ps; if it is not complete, the time since its start
    bool is_complete = true;
  };
  // The key is the start of the job and the number of the iteration since then: the same work in
  // each run of the scenario.
  std::map<std::pair<size_t, size_t>, Iteration> iterations;
  uint64_t retransmitted = 0;  // frames
};

// The work of each job of the scenario: its iterations that end after `from` and begin before
// `until`. `starts` are those of Outcome; `retransmitted` has the frames of each job of the
// scenario until `until`.
std::vector<JobWork> WorkIn(const Simulation& simulation, std::span<const Outcome::JobStart> starts,
                            SimTime from, SimTime until, std::span<const uint64_t> retransmitted);

// A job is a victim of the fault if the fault makes its iterations longer by at least kSlowdown and
// by more than chance, makes one of them much longer, or makes the job retransmit more. Without the
// fault, packets meet at other times, so that some iterations are a little longer and others a
// little shorter. The number of retransmissions varies by chance too: losses follow a Poisson
// distribution, and each of them causes about kFramesOfLoss retransmitted frames.
bool IsVictim(const JobWork& with_fault, const JobWork& without_fault);
inline constexpr double kSlowdown = 1.02;
inline constexpr double kSlowdownOfFew = 1.1;  // with fewer than kFewIterations
inline constexpr size_t kFewIterations = 3;
inline constexpr double kSlowdownOfOne = 1.5;
inline constexpr double kMoreRetransmitted = 1.5;
inline constexpr double kFramesOfLoss = 8;
inline constexpr double kDeviations = 2;  // standard deviations of the difference

class VictimStudy {
 public:
  // Takes what it needs from a complete run, except the scenario, which must outlive this object.
  // Destroy the simulation before Run: there is one engine at a time.
  VictimStudy(const Simulation& complete, const Outcome& outcome);

  // Runs the scenario without a fault at least until `until`, and returns the work of its jobs.
  using RunWithout =
      std::function<Result<std::vector<JobWork>>(size_t fault, SimTime from, SimTime until)>;
  // Called with the number of runs that are complete, and of all runs.
  using Progress = std::function<void(size_t done, size_t all)>;
  // Runs the scenario without each visible fault, and adds the victims to the truth.
  Status Run(const RunWithout& run, const Progress& progress, v1::Truth& truth);

 private:
  struct Study {
    SimTime from = 0;
    SimTime until = 0;
    std::vector<JobWork> with_fault;  // by job of the scenario
  };

  const Scenario& scenario_;
  std::vector<std::optional<Study>> studies_;  // by fault; unset: the fault was never visible
};

// With the packet model. The scenario must outlive the function.
VictimStudy::RunWithout PacketRunWithout(const Scenario& scenario);

}  // namespace rocescope::sim
