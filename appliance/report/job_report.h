// SPDX-License-Identifier: BSD-3-Clause
// The parts of the report that say who talked to whom.
#pragma once

#include <cstdint>
#include <map>

#include "analytics/engine/snapshot.h"

namespace rocescope {

namespace v1 {
class ReplayReport;
}

struct FlowReference {
  uint32_t id = 0;  // in the report
  const FlowSummary* summary = nullptr;
};
using FlowIds = std::map<FlowKey, FlowReference>;

void FillConnections(const Snapshot& snapshot, const FlowIds& flows, v1::ReplayReport& report);
void FillJobs(const Snapshot& snapshot, v1::ReplayReport& report);

}  // namespace rocescope
