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
#include "dataplane/lcore/totals.h"
#include "dataplane/record/ledger.h"

namespace google::protobuf {
class Arena;
}

namespace rocescope {

namespace v1 {
class ReplayReport;
}

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

// What a DPDK port counted.
struct PortFindings {
  std::string name;
  std::string driver;
  bool counted = true;         // the driver tells `received` and `errors`
  bool losses_counted = true;  // and `missed` and `no_mbuf`
  uint64_t received = 0;
  uint64_t missed = 0;        // the NIC's queues were full
  uint64_t no_mbuf = 0;       // the pool was empty
  uint64_t errors = 0;        // broken frames
  uint32_t mbufs = 0;         // in the pool,
  uint32_t mbufs_in_use = 0;  // and of these in use at the end,
  uint32_t mbufs_peak = 0;    // and at most
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
