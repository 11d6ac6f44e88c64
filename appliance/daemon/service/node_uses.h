// SPDX-License-Identifier: BSD-3-Clause
// Which hosts the jobs that run hold: by what schedulers say, and by what packets show of jobs that
// no scheduler told of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/dependency/rank_places.h"
#include "analytics/engine/snapshot.h"
#include "dataplane/host/allocation.h"
#include "analytics/placement/placement.h"
#include "base/time.h"

namespace rocescope {

// A job of which no data was seen for so long does not run, as far as packets tell. Longer than
// what a job computes between two collectives, and than most checkpoints take.
inline constexpr Duration kIdleJob = std::chrono::seconds(60);
// For so long a job may outlive its time limit until it counts as ended, its scheduler having
// failed to say so: far beyond Slurm's KillWait, which is 30 s unless it is set.
inline constexpr Duration kOverLimit = std::chrono::minutes(10);

// `allocations` are the scheduler's, those that have ended too, and go before what packets show.
// `now` is event time; `own` is the number of a job whose nodes are left out, or 0. The snapshot
// has a fabric.
std::vector<NodeUsage> NodeUses(const RankPlaces& places, const Snapshot& snapshot,
                              std::span<const Allocation> allocations, Timestamp now, uint64_t own);

}  // namespace rocescope
