// SPDX-License-Identifier: BSD-3-Clause
// Returns the pairs of queue pairs that the host facts state, for the connection tracker.
#pragma once

#include <string>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"

namespace rocescope {

std::vector<KnownPair> KnownPairsOf(const HostFacts& facts);

// Returns the queue pairs in rdma dumps. The dumps do not state the remote address.
std::vector<KnownQueuePair> KnownQueuePairsOf(const HostFacts& facts);

// Returns notes about dumps that cannot be used, with the reason.
std::vector<std::string> NotesOnDumps(const HostFacts& facts);

}  // namespace rocescope
