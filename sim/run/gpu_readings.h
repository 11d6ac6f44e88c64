// SPDX-License-Identifier: BSD-3-Clause
// What DCGM would read of the GPUs: how busy jobs keep them, at which clock, how warm.
#pragma once

#include <memory>
#include <vector>

#include "sim/emit/counter_log.h"
#include "sim/workload/job.h"

namespace rocescope::sim {

class GpuReadings {
 public:
  // All must outlive it. The jobs are all there are.
  GpuReadings(Network& network, const std::vector<std::unique_ptr<Job>>& jobs, CounterLog& log);
  GpuReadings(const GpuReadings&) = delete;  // events know it
  GpuReadings& operator=(const GpuReadings&) = delete;

  // Reads now and after each of the log's periods.
  void Start();

 private:
  struct Gpu {
    const Job* job = nullptr;  // nullptr: idle
    uint32_t rank = 0;
    SimTime computed = 0;  // by the last reading
  };

  void Read(topology::GpuIndex index);

  Network& network_;
  CounterLog& log_;
  std::vector<Gpu> gpus_;
  SimTime last_ = 0;
  MemberEvent<GpuReadings, &GpuReadings::Start> next_{*this};
};

}  // namespace rocescope::sim
