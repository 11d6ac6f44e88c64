// SPDX-License-Identifier: BSD-3-Clause
// Determines which hosts running jobs use, from the scheduler and, for jobs unknown to it, from
// packets. Finds GPUs of jobs that the topology does not contain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/dependency/rank_places.h"
#include "analytics/engine/snapshot.h"
#include "analytics/placement/placement.h"
#include "base/time.h"
#include "dataplane/host/allocation.h"
#include "topology/fabric.h"

namespace rocescope {

// A job without data packets for this long is considered not running. The value is longer than the
// computation between two collectives, and longer than most checkpoints.
inline constexpr Duration kIdleJob = std::chrono::seconds(60);
// Grace period after the time limit of a job. After it, the job is considered ended although the
// scheduler has not reported so. The value is far longer than the KillWait of Slurm (default 30 s).
inline constexpr Duration kOverLimit = std::chrono::minutes(10);

// Returns the GPU numbers that the topology does not contain; empty if it describes no GPU of the
// host.
std::vector<uint32_t> UnknownGpus(const topology::Fabric& fabric, topology::NodeIndex host,
                                  std::span<const uint32_t> numbers);

// `allocations` are the scheduler's jobs, including ended ones; they take precedence over packets.
// `now` is event time. The nodes of job number `own` (0: none) are left out. The snapshot must have
// a fabric. GPU numbers that it does not contain are left out. If it contains none of them, the
// first one remains, because an empty list stands for the whole node.
std::vector<NodeUsage> NodeUses(const RankPlaces& places, const Snapshot& snapshot,
                                std::span<const Allocation> allocations, Timestamp now,
                                uint64_t own);

}  // namespace rocescope
