// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: the order in time of jobs that ran on the same GPUs.
//
// NCCL logs contain no usable timestamps, but a GPU runs one process of a training job at a time,
// and the process IDs of a host ascend until they wrap around. Jobs that share GPUs therefore ran
// one after the other, in the order of the process IDs on most of the shared GPUs.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "analytics/job/communicator.h"

namespace rocescope {

class JobOrder {
 public:
  // Keeps a reference to the argument.
  explicit JobOrder(const std::vector<Job>& jobs) : jobs_(jobs) {}

  // Sorts jobs (indices) by time. Returns false and leaves them unchanged if two of them share no
  // GPU, or if their order is unknown.
  bool Sort(std::vector<uint32_t>& jobs) const;

 private:
  const std::vector<Job>& jobs_;
};

}  // namespace rocescope
