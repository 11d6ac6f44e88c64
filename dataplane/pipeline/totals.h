// SPDX-License-Identifier: BSD-3-Clause
// Totals of the dataplane: those of one processor, or the sum over processors that share a
// TapRegistry.
#pragma once

#include <vector>

#include "dataplane/flow/flow_table.h"
#include "dataplane/pipeline/frame_processor.h"

namespace rocescope {

struct DataplaneTotals {
  FrameProcessor::Counters counters;
  FlowTable::Statistics flows;
  std::vector<Tap> taps;  // indexed by number
  std::vector<MirrorStream> mirrors;
  std::vector<TelemetrySource> telemetry;  // senders of INT reports and sFlow

  // `followed`: the mirror sessions that this lcore received, whichever lcore decoded the frames.
  void Add(const FrameProcessor& processor, const std::vector<MirrorStream>& followed);
  // The same for an lcore that decoded everything that it received.
  void Add(const FrameProcessor& processor) { Add(processor, processor.taps().MirrorStreams()); }
};

}  // namespace rocescope
