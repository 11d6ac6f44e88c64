// SPDX-License-Identifier: BSD-3-Clause
// Magnitudes of drawn scenarios: milliseconds in the packet model, hours in the flow model.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/engine/time.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

struct Range {
  double least = 0;
  double most = 0;
};

struct Scale {
  SimTime grain = 0;          // drawn times are multiples of it
  SimTime window = 0;         // analysis window
  std::string_view settings;  // keys of the scenario, one a line
  std::string_view telemetry;

  // Jobs.
  Range transfer;              // microseconds that the data of an iteration takes on an idle link
  Range duty;                  // share of the time in which a job sends
  std::string_view chunk;      // largest message; empty: the default
  double overload_chance = 0;  // of streams that overload a NIC although no fault needs them
  bool jobs_end = false;       // jobs start and end during the run
  Range compile;               // pauses in iterations
  Range evaluation;
  Range every;                 // iterations from one checkpoint or evaluation to the next
  Range checkpoint;            // bytes of each rank
  uint32_t restart_draws = 0;  // each with a chance of 0.3
  Range downtime;              // of a restart, as a share of the run
  // Time before work on a link or switch in which routing moves its traffic away, as a share of
  // the run. It is several polling periods, as in reality.
  Range drain;

  // Faults.
  SimTime shortest_flap = 0;  // period
  // Least number of periods of a flapping fault. 0: no minimum, and a period is at most a quarter
  // of the run.
  uint32_t fewest_flaps = 0;
  Range slowdown;  // factor of stragglers

  // Benign events.
  Range microburst_period;  // shares of the run
  Range discard_period;
  Range microburst;  // frames of each sender
};

inline constexpr Scale kMilliseconds = {
    .grain = kMicrosecond,
    .window = kMillisecond,
    // Matches the ratio in production: iterations of about a second with intervals of 100 ms there,
    // iterations of about a millisecond here.
    .settings = "record_interval: 1ms\nanalysis_window: 1ms\n",
    // All telemetry is on, so that one run can be analysed with any subset of it. sFlow samples one
    // frame in 1,000, as is common at such speeds; INT reports one packet in 8. The collector port
    // is wide enough for all mirrors, more than a real fabric would send at once.
    .telemetry =
        "mirror: [all, port_sets], collector_rate: 12800G, int_exponent: 3, sflow_rate: "
        "1000, rdma: true, slurm: true",
    .transfer = {60, 120},
    .duty = {0.15, 0.25},
    .overload_chance = 0.2,
    .compile = {0.5, 2},
    .evaluation = {0.3, 1},
    .every = {4, 10},
    .checkpoint = {64 << 10, 1 << 20},
    .restart_draws = 1,
    .downtime = {0.05, 0.15},
    .drain = {0.1, 0.2},
    .shortest_flap = 200 * kMicrosecond,
    .slowdown = {1.5, 4},
    .microburst_period = {0.2, 0.5},
    .discard_period = {0.1, 0.5},
    .microburst = {4, 8}};

// Times are real, as in sim/scenarios/day.yaml. Counters are exact unless `rocescope-sim profile`
// reads the recording.
inline constexpr Scale kHours = {
    .grain = kSecond,
    .window = 30 * kSecond,
    .settings =
        "model: flow\ntime_scale: 1\nrecord_interval: 1s\nanalysis_window: 30s\n"
        "reroute_delay: 200ms\n",
    .telemetry =
        "mirror: none, sflow_rate: 4194304, sflow_counters: 10min, sflow_spans: {length: "
        "1min, random: 10}, counter_period: 30s, slurm: true",
    .transfer = {300e3, 3e6},
    .duty = {0.15, 0.5},
    .chunk = "4M",
    .jobs_end = true,
    .compile = {5, 20},
    .evaluation = {3, 20},
    .every = {50, 300},
    .checkpoint = {256 << 20, 8e9},
    .restart_draws = 3,
    .downtime = {0.01, 0.05},
    .drain = {0.02, 0.05},
    .shortest_flap = 4 * kSecond,
    .fewest_flaps = 2,
    .slowdown = {1.1, 3},
    .microburst_period = {0.02, 0.1},
    .discard_period = {0.0005, 0.02},
    .microburst = {16, 96}};

inline constexpr const Scale& ScaleOf(Model model) {
  return model == Model::kFlow ? kHours : kMilliseconds;
}

inline SimTime RoundDown(SimTime time, const Scale& scale) {
  return time / scale.grain * scale.grain;
}

}  // namespace rocescope::sim
