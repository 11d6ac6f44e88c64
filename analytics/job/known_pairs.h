// SPDX-License-Identifier: BSD-3-Clause
// Pairs of queue pairs that the facts state outright, for the connection tracker.
#pragma once

#include <string>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/host_facts.h"

namespace rocescope {

std::vector<KnownPair> KnownPairsOf(const HostFacts& facts);

// What the dumps of `rdma resource` say of each queue pair, wherever its other end is.
std::vector<KnownQueuePair> KnownQueuePairsOf(const HostFacts& facts);

// Sentences about dumps that are of no use, and why.
std::vector<std::string> NotesOnDumps(const HostFacts& facts);

}  // namespace rocescope
