// SPDX-License-Identifier: BSD-3-Clause
// GPU readings as DCGM exports them: utilisation, clock and temperature.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/benign/benign.h"
#include "sim/emit/counter_log.h"
#include "sim/workload/job.h"

namespace rocescope::sim {

class GpuReadings {
 public:
  // Reads the GPUs whenever `log` reads its counters. All arguments must outlive this object.
  // `jobs` contains all jobs of the run. GPUs of a host that reboots are not read.
  // `recording_steps`: 0 for readings as devices report them. Otherwise the log is a recording
  // (sim/recording/recorded_counters.h) with this many steps in one polling period.
  GpuReadings(Network& network, const std::vector<std::unique_ptr<Job>>& jobs,
              std::span<const MaintenanceOptions> maintenance, CounterLog& log,
              uint32_t recording_steps = 0);
  GpuReadings(const GpuReadings&) = delete;  // the log refers to it
  GpuReadings& operator=(const GpuReadings&) = delete;

 private:
  struct User {
    const Job* job = nullptr;
    uint32_t rank = 0;
  };
  struct Gpu {
    std::vector<User> users;        // in order of their starts; empty: idle
    uint32_t number = UINT32_MAX;   // number in the sink
    std::vector<SimTime> computed;  // compute time at the last readings of a polling period
  };

  // The job that uses the GPU now; nullptr: it is idle.
  const User* UserOf(const Gpu& gpu) const;

  bool IsRebooting(topology::NodeIndex host) const;
  void Read();
  void Read(topology::GpuIndex index);

  Network& network_;
  const std::span<const MaintenanceOptions> maintenance_;
  CounterLog& log_;
  const uint32_t recording_steps_;
  std::vector<Gpu> gpus_;
  std::vector<SimTime> times_;  // times of the last readings; Gpu::computed has the same indices
  size_t next_ = 0;             // index of this reading, which replaces the oldest one
};

}  // namespace rocescope::sim
