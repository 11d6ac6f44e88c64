// SPDX-License-Identifier: BSD-3-Clause
// The counters that an lcore publishes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "dataplane/flow/flow_table.h"
#include "dataplane/pipeline/frame_processor.h"

namespace rocescope {

struct SourceStatistics {
  FrameProcessor::Counters frames;
  FlowTable::Statistics flows;
  uint32_t flows_open = 0;  // entries of the flow table in use
  uint64_t bytes = 0;       // received bytes, whatever happened to the frames
  // Frames of several segments that were copied into contiguous memory.
  uint64_t linearised = 0;
  uint64_t records = 0;          // handed over to the reader
  uint64_t records_dropped = 0;  // dropped because the reader was slow
  // Frames or datagrams that the kernel dropped because its buffer was full.
  uint64_t missed = 0;
  uint64_t passed_on = 0;  // frames put on the ring of the lcore that owns them
  bool received_any = false;
  Timestamp first_arrival;  // first of all frames before any filter; valid if received_any
  Timestamp last_arrival;

  // Adds the counters of another lcore.
  SourceStatistics& operator+=(const SourceStatistics& other) {
    frames += other.frames;
    flows += other.flows;
    flows_open += other.flows_open;
    bytes += other.bytes;
    linearised += other.linearised;
    records += other.records;
    records_dropped += other.records_dropped;
    missed += other.missed;
    passed_on += other.passed_on;
    if (other.received_any) {
      first_arrival =
          received_any ? std::min(first_arrival, other.first_arrival) : other.first_arrival;
      last_arrival = std::max(last_arrival, other.last_arrival);
      received_any = true;
    }
    return *this;
  }
};

}  // namespace rocescope
