// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: iterations of one job, and what is done in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analytics/collective/channel.h"

namespace rocescope {

// Of the channels (indices) of one job. Nothing if no period is to be seen. `job` is not set.
std::optional<JobIterationPattern> IterationPatternOf(const Channels& channels, std::span<const uint32_t> of_job,
                                  const TimeLine& line);

}  // namespace rocescope
