// SPDX-License-Identifier: BSD-3-Clause
// From what the dataplane counted and the engine inferred to the report message, and from there to
// what a person or a program reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "dataplane/pipeline/totals.h"
#include "dataplane/port/port_findings.h"
#include "dataplane/record/ledger.h"

namespace google::protobuf {
class Arena;
}

namespace rocescope {

namespace v1 {
class Port;
class ReplayReport;
}  // namespace v1

// When the captures begin and end, before any filter. Looked at once a batch: where a clock steps
// back within one, a frame may lie outside.
struct CaptureExtent {
  std::optional<Timestamp> first;  // unset: there are no frames
  Timestamp last;

  void Add(std::span<const RawFrame> batch) {
    if (batch.empty()) return;
    first = std::min(first.value_or(batch.front().timestamp), batch.front().timestamp);
    last = std::max(last, batch.back().timestamp);
  }
};

// What lcores could not pass on.
struct LcoreFindings {
  uint64_t records_dropped = 0;  // the reader was slow
};

// What was in counters.jsonl.
struct CounterFindings {
  Ledger lines;
  uint64_t records = 0;
  std::optional<Timestamp> first;  // reading; unset: there is none
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

void FillPort(const PortFindings& port, v1::Port& out);

// Lives in `arena`.
const v1::ReplayReport& BuildReplayReport(const ReplayFindings& findings,
                                          google::protobuf::Arena& arena);

// The answer first, aligned, at most a screen or two whatever the capture's size.
std::string RenderText(const v1::ReplayReport& report);

// FAULTS alone, with what each rests on, and the notes.
std::string RenderFaultsText(const v1::ReplayReport& report);

// The standard JSON mapping with proto field names, all fields printed; ends with a line end.
std::string RenderJson(const v1::ReplayReport& report);
std::string RenderFaultsJson(const v1::ReplayReport& report);

}  // namespace rocescope
