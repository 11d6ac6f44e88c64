// SPDX-License-Identifier: BSD-3-Clause
// What the dataplane saw in all: one processor's, or the sum over those that share a TapRegistry.
#pragma once

#include <vector>

#include "dataplane/flow/flow_table.h"
#include "dataplane/pipeline/frame_processor.h"

namespace rocescope {

struct DataplaneTotals {
  FrameProcessor::Counters counters;
  FlowTable::Statistics flows;
  std::vector<Tap> taps;  // by number
  std::vector<MirrorStream> mirrors;
  std::vector<TelemetrySource> telemetry;  // who sent INT reports and sFlow

  // `followed`: the mirrors of frames that this lcore received, whoever decoded them.
  void Add(const FrameProcessor& processor, const std::vector<MirrorStream>& followed);
  // The same for one that received all that it decoded.
  void Add(const FrameProcessor& processor) { Add(processor, processor.taps().MirrorStreams()); }
};

}  // namespace rocescope
