// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder.
#pragma once

#include <span>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/communicator_set.h"
#include "analytics/job/process_set.h"

namespace rocescope {

// The job that these processes form by these communicators (indices). Addresses are those that each
// queue pair's own line prints.
Job BuildJob(std::span<const LoggedProcess> processes, const CommunicatorSet& set,
             std::vector<size_t> own_processes, std::vector<int> own_groups);

}  // namespace rocescope
