// SPDX-License-Identifier: BSD-3-Clause
// A connection's two flows, and what they carried.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "analytics/connection/connection.h"
#include "analytics/traffic/traffic.h"
#include "dataplane/record/flow_key_hash.h"

namespace rocescope {

// What end `from` sends to the other; none if the other's number is not known.
std::optional<FlowKey> FlowFrom(size_t from, const Connection& connection);

// Each paired connection's flows by each other: what a NAK or a notification is about goes the
// other way.
std::unordered_map<FlowKey, FlowKey, FlowKeyHash> OtherWays(const ConnectionList& connections);

// From end `from` to the other, while the connection held its queue pair numbers. Null: nothing.
// `flows` ascend by key.
const FlowCounts* CarriedFrom(size_t from, const Connection& connection,
                              const FlowSummaries& flows);

}  // namespace rocescope
