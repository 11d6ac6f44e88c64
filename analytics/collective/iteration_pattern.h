// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: iterations and collectives of one job.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analytics/collective/channel.h"

namespace rocescope {

// `of_job` are the indices of the job's channels. Returns nothing without a detectable period. Does
// not set `job`.
std::optional<JobIterationPattern> IterationPatternOf(const Channels& channels,
                                                      std::span<const uint32_t> of_job,
                                                      const TimeLine& line);

}  // namespace rocescope
