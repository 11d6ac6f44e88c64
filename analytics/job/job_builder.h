// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder.
#pragma once

#include <span>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/communicator_set.h"
#include "analytics/job/process_set.h"

namespace rocescope {

// Builds the job that these processes form through these communicators (indices). Addresses of
// queue pairs come only from their own log lines.
Job BuildJob(std::span<const LoggedProcess> processes, const CommunicatorSet& set,
             std::vector<size_t> own_processes, std::vector<int> own_groups);

}  // namespace rocescope
