// SPDX-License-Identifier: BSD-3-Clause
// What a connection's flows carried. Internal to this folder.
#pragma once

#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/traffic/traffic.h"

namespace rocescope {

// From end `from` to the other, while the connection held its queue pair numbers. Null: nothing.
// `flows` ascend by key.
const FlowCounts* CarriedFrom(size_t from, const Connection& connection,
                              const FlowSummaries& flows);

}  // namespace rocescope
