// SPDX-License-Identifier: BSD-3-Clause
// The parts of the report that say who talked to whom.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "analytics/engine/snapshot.h"
#include "base/hash.h"

namespace rocescope {

namespace v1 {
class ReplayReport;
}

struct FlowReference {
  uint32_t id = 0;  // in the report
  const FlowSummary* summary = nullptr;
};
struct FlowKeyHash {
  size_t operator()(const FlowKey& key) const {
    return HashCombine(FoldAddress(key.source) * 3 + FoldAddress(key.destination),
                       uint64_t{key.segment} << 32 | key.destination_qpn.value);
  }
};
using FlowIds = std::unordered_map<FlowKey, FlowReference, FlowKeyHash>;

// As Endpoint.rank_source has it.
std::string_view NameOf(RankSource source);

void FillConnections(const Snapshot& snapshot, const FlowIds& flows, v1::ReplayReport& report);
void FillJobs(const Snapshot& snapshot, v1::ReplayReport& report);

}  // namespace rocescope
