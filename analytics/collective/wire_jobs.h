// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: which channels are one job's, by nothing but the wire. Channels that
// share a host and repeat with one period are; what does not repeat is nobody's, unless it carries
// clear-to-sends as collective libraries do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/collective/channel.h"
#include "analytics/collective/period.h"

namespace rocescope {

inline constexpr int kNoJob = -1;

struct WireJobs {
  std::vector<int> job_of;  // by channel; kNoJob
  // By job, what is left of its channels' doubt: those found in step, 0.98, by connection, 0.7.
  std::vector<double> confidence;
  bool gave_up = false;  // smaller channels were not held against all rhythms: too many of these
};

// Channels with `taken` belong to jobs that are known otherwise.
WireJobs FindWireJobs(const Channels& channels, const std::vector<bool>& taken,
                      const TimeLine& line);

}  // namespace rocescope
