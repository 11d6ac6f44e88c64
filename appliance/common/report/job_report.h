// SPDX-License-Identifier: BSD-3-Clause
// The parts of the report about jobs, connections and paths.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "dataplane/pipeline/totals.h"
#include "dataplane/record/flow_key_hash.h"

namespace rocescope {

namespace v1 {
class Allocation;
class Finding;
class FlowPath;
class ReplayReport;
class ServiceIndicator;
class ServiceLevel;
enum RankSource : int;
}  // namespace v1

struct FlowReference {
  uint32_t id = 0;  // index in the report
  const FlowSummary* summary = nullptr;
};
using FlowIds = std::unordered_map<FlowKey, FlowReference, FlowKeyHash>;

v1::RankSource MessageOf(RankSource source);

void FillAllocation(const JobAllocation& allocation, v1::Allocation& out);
void FillConnections(const Snapshot& snapshot, const FlowIds& flows, v1::ReplayReport& report);
void FillJobs(const Snapshot& snapshot, v1::ReplayReport& report);
// Fills in the ID and the scheduler's allocation of each job; sentences name jobs by these.
void FillJobNames(const Snapshot& snapshot, v1::ReplayReport& report);
void FillPath(const topology::Fabric& fabric, const FlowPath& path, v1::FlowPath& out);
void FillPaths(const Snapshot& snapshot, v1::ReplayReport& report);
void FillHotspots(const Snapshot& snapshot, v1::ReplayReport& report);
void FillAnomalies(const Snapshot& snapshot, v1::ReplayReport& report);
void FillServiceLevel(const Snapshot& snapshot, const ServiceLevel& level, v1::ServiceLevel& out);
// Adds the indicators that these levels belong to, with the number of levels in each state.
void FillServiceIndicators(const Snapshot& snapshot, std::span<const ServiceLevel* const> levels,
                           google::protobuf::RepeatedPtrField<v1::ServiceIndicator>& out);
void FillServiceLevels(const Snapshot& snapshot, v1::ReplayReport& report);
// Fills in everything except culprits, reach and the sentence.
void FillFinding(const Snapshot& snapshot, const Finding& finding, v1::Finding& out);
void FillFindings(const Snapshot& snapshot, v1::ReplayReport& report);
void FillCabling(const Snapshot& snapshot, v1::ReplayReport& report);
void FillClocks(const Snapshot& snapshot, const std::vector<Tap>& taps, v1::ReplayReport& report);

}  // namespace rocescope
