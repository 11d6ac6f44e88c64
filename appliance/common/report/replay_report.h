// SPDX-License-Identifier: BSD-3-Clause
// Builds the report message from the dataplane's counters and the engine's snapshot, and renders it
// as text or JSON.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "appliance/common/report/fitted_text.h"
#include "dataplane/pipeline/totals.h"
#include "dataplane/port/port_findings.h"
#include "dataplane/record/ledger.h"

namespace google::protobuf {
class Arena;
}

namespace rocescope {

namespace v1 {
class DpdkPort;
class ReplayReport;
}  // namespace v1

// First and last timestamp of the captures, before any filter. It is updated once for each batch:
// if a clock steps back within a batch, a frame may lie outside.
struct CaptureExtent {
  std::optional<Timestamp> first;  // unset if there are no frames
  Timestamp last;

  void Add(std::span<const RawFrame> batch) {
    if (batch.empty()) return;
    first = std::min(first.value_or(batch.front().timestamp), batch.front().timestamp);
    last = std::max(last, batch.back().timestamp);
  }
};

// Records that worker cores could not pass on.
struct LcoreFindings {
  uint64_t records_dropped = 0;  // dropped because the consumer was too slow
};

// The contents of counters.jsonl or counters.columns.
struct CounterFindings {
  Ledger lines;
  uint64_t records = 0;
  std::optional<Timestamp> first;  // first reading; unset if there is none
};

struct ReplayFindings {
  const DataplaneTotals& dataplane;
  const Snapshot& snapshot;
  CaptureExtent extent;
  std::vector<PortFindings> ports;
  LcoreFindings lcores;
  CounterFindings counters;
  std::vector<std::string> notes;
};

// The start of a recording, from its first frame and its first counter reading: the earlier one. A
// reading more than a day before the first frame has a wrong time, or is of another recording.
std::optional<Timestamp> EarliestOf(std::optional<Timestamp> frame,
                                    std::optional<Timestamp> reading);

void FillPort(const PortFindings& port, v1::DpdkPort& out);

// Returns a report that is allocated in `arena`.
const v1::ReplayReport& BuildReplayReport(const ReplayFindings& findings,
                                          google::protobuf::Arena& arena);

// The text reports have lines of at most `width` characters where possible (FitText).

// The complete text report (`--details`), with at most kMaxRows rows in each table.
std::string RenderText(const v1::ReplayReport& report, size_t width = kNoWidth);

// The default text report, about one screen: findings with their actions, missing telemetry,
// affected jobs, and one line each for hotspots, losses and the ledger.
std::string RenderBriefText(const v1::ReplayReport& report, size_t width = kNoWidth);

// The sections with these names, in the order of the report; see SectionNames.
std::string RenderSections(const v1::ReplayReport& report, std::span<const std::string> names,
                           size_t width = kNoWidth);
std::vector<std::string_view> SectionNames();

// The section "faults" with all evidence, and the notes.
std::string RenderFaultsText(const v1::ReplayReport& report, size_t width = kNoWidth);

// The standard JSON mapping with proto field names; all fields are printed. Ends with a line feed.
std::string RenderJson(const v1::ReplayReport& report);
// Passes the same text to `take` in pieces; see WriteJson in message_json.h.
bool RenderJson(const v1::ReplayReport& report, const std::function<bool(std::string_view)>& take);
std::string RenderFaultsJson(const v1::ReplayReport& report);

}  // namespace rocescope
