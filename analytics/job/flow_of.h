// SPDX-License-Identifier: BSD-3-Clause
// The two flows of a connection and what they carried.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>

#include "analytics/connection/connection.h"
#include "analytics/traffic/traffic.h"
#include "dataplane/record/flow_key_hash.h"

namespace rocescope {

// Returns the flow sent by end `from`, or nothing if the other end's number is unknown.
std::optional<FlowKey> FlowFrom(size_t from, const Connection& connection);

// Maps each flow of a paired connection to the flow in the opposite direction, to which its NAKs
// and CNPs refer.
std::unordered_map<FlowKey, FlowKey, FlowKeyHash> OtherWays(const ConnectionList& connections);

// Returns what end `from` sent while the connection owned its queue pair numbers; null: nothing.
// `flows` is sorted by key.
const FlowCounts* CarriedFrom(size_t from, const Connection& connection,
                              const FlowSummaries& flows);

// NCCL sends data in one direction of a connection and clear-to-sends in the other. Returns the end
// that sends the data; nothing: the connection carried nothing, or data in both directions.
std::optional<size_t> DataSenderOf(const Connection& connection, const FlowSummaries& flows);

}  // namespace rocescope
