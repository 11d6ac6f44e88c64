// SPDX-License-Identifier: BSD-3-Clause
// Compares the flow model with the packet model on one scenario.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace rocescope::sim {

struct Calibration {
  struct JobTimes {
    std::string name;
    double packet = 0;  // mean iteration time in seconds, without the first iteration
    double flow = 0;
    size_t iterations = 0;  // number of those that are complete in both models
  };
  struct Utilisation {
    std::string port;
    double packet = 0;  // share of the link's speed
    double flow = 0;
  };
  std::vector<JobTimes> jobs;
  // All connected ports, the greatest difference first.
  std::vector<Utilisation> ports;
  // Numbers of frames in the whole run.
  uint64_t packet_lost = 0;
  uint64_t flow_lost = 0;
  uint64_t packet_retransmitted = 0;
  uint64_t flow_retransmitted = 0;
  // Numbers of timeouts and of NAKs that senders received.
  uint64_t packet_timeouts = 0;
  uint64_t flow_timeouts = 0;
  uint64_t packet_sequence_errors = 0;
  uint64_t flow_sequence_errors = 0;

  double WorstUtilisation() const;  // greatest difference of a port, 0 to 1
  double WorstIteration() const;    // greatest relative difference of a job's iteration time
};

// Runs both models one after the other, because only one engine (sim/engine) can exist at a time.
Result<Calibration> Calibrate(const Scenario& scenario);

}  // namespace rocescope::sim
