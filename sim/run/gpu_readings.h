// SPDX-License-Identifier: BSD-3-Clause
// GPU readings as DCGM exports them: utilisation, clock and temperature.
#pragma once

#include <memory>
#include <vector>

#include "sim/emit/counter_log.h"
#include "sim/workload/job.h"

namespace rocescope::sim {

class GpuReadings {
 public:
  // All arguments must outlive this object. `jobs` contains all jobs of the run.
  GpuReadings(Network& network, const std::vector<std::unique_ptr<Job>>& jobs, CounterLog& log);
  GpuReadings(const GpuReadings&) = delete;  // events refer to it
  GpuReadings& operator=(const GpuReadings&) = delete;

  // Reads now and after each period of the log.
  void Start();

 private:
  struct User {
    const Job* job = nullptr;
    uint32_t rank = 0;
  };
  struct Gpu {
    std::vector<User> users;  // in order of their starts; empty: idle
    SimTime computed = 0;     // compute time at the last reading
  };

  // The job that uses the GPU now; nullptr: it is idle.
  const User* UserOf(const Gpu& gpu) const;

  void Read(topology::GpuIndex index);

  Network& network_;
  CounterLog& log_;
  std::vector<Gpu> gpus_;
  SimTime last_ = 0;
  MemberEvent<GpuReadings, &GpuReadings::Start> next_{*this};
};

}  // namespace rocescope::sim
