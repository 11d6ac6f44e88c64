// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: infers jobs from traffic alone. Channels that share a host and repeat
// with the same period belong to one job. A channel without a period belongs to no job, unless it
// carries clear-to-sends as collective libraries do. If no channel of a job has clear-to-sends and
// no NIC both sends and receives, it is no collective but other traffic, such as that of storage.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/collective/channel.h"
#include "analytics/collective/period.h"

namespace rocescope {

inline constexpr int kNoJob = -1;

struct WireJobs {
  std::vector<int> job_of;  // indexed by channel; kNoJob: none
  // Confidence by job: at most 0.98 for channels matched by period, at most 0.7 for channels
  // matched by connection.
  std::vector<double> confidence;
  int other = kNoJob;  // number of the job that stands for all other traffic; kNoJob: none
  // The smaller channels were not compared with all periods, because there were too many.
  bool gave_up = false;
};

// Channels with `taken` set belong to jobs that are known from other sources.
WireJobs FindWireJobs(const Channels& channels, const std::vector<bool>& taken,
                      const TimeLine& line);

}  // namespace rocescope
