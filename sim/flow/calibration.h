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
    double packet = 0;  // mean iteration time in seconds
    double flow = 0;
    size_t iterations = 0;  // complete ones in both models
  };
  struct Utilisation {
    std::string port;
    double packet = 0;  // share of the link's speed
    double flow = 0;
  };
  std::vector<JobTimes> jobs;
  // Ports with traffic, the greatest difference first.
  std::vector<Utilisation> ports;
  // Frames.
  uint64_t packet_lost = 0;
  uint64_t flow_lost = 0;
  uint64_t packet_retransmitted = 0;
  uint64_t flow_retransmitted = 0;
  // How senders noticed losses.
  uint64_t packet_timeouts = 0;
  uint64_t flow_timeouts = 0;
  uint64_t packet_sequence_errors = 0;
  uint64_t flow_sequence_errors = 0;

  double WorstUtilisation() const;  // greatest difference, 0 to 1
  double WorstIteration() const;    // greatest relative difference
};

// Runs both models, one after the other; see sim/engine for the limit of one engine at a time.
Result<Calibration> Calibrate(const Scenario& scenario);

}  // namespace rocescope::sim
