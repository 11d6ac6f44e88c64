// SPDX-License-Identifier: BSD-3-Clause
// What each job does again and again; and, where no host says so, which jobs there are.
#pragma once

#include <vector>

#include "analytics/collective/activity.h"
#include "analytics/collective/collective.h"
#include "analytics/connection/connection.h"
#include "analytics/job/attribution.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

// Adds to `attribution`, which is of these connections and flows, the jobs that the wire alone
// shows. Rhythms are by job; a job without a period, or that was not seen for three, has none.
std::vector<JobRhythm> FindCollectives(const HostFacts& facts, const ConnectionList& connections,
                                       const FlowSummaries& flows, const ActivityTracker& activity,
                                       Attribution& attribution);

}  // namespace rocescope
