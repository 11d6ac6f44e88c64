// SPDX-License-Identifier: BSD-3-Clause
// From what the dataplane counted and the engine inferred to the report message, and from there to
// what a person or a program reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "dataplane/lcore/frame_processor.h"

namespace google::protobuf {
class Arena;
}

namespace rocescope {

namespace v1 {
class ReplayReport;
}

// The captures as they are, before any filter.
struct CaptureExtent {
  uint64_t frames = 0;
  Timestamp first;  // earliest and latest; the epoch if there are no frames
  Timestamp last;
  uint64_t cut_frames = 0;  // captured shorter than they were
  uint32_t cut_at = 0;      // octets that the longest of those has: the snap length

  void Add(const RawFrame& raw) {
    if (frames++ == 0) first = last = raw.timestamp;
    first = std::min(first, raw.timestamp);
    last = std::max(last, raw.timestamp);
    const auto captured = static_cast<uint32_t>(raw.bytes.size());
    if (captured >= raw.original_length) return;
    ++cut_frames;
    cut_at = std::max(cut_at, captured);
  }
};

struct ReplayFindings {
  const FrameProcessor& processor;
  const Snapshot& snapshot;
  CaptureExtent extent;
  std::vector<std::string> notes;
};

// Lives in `arena`.
const v1::ReplayReport& BuildReplayReport(const ReplayFindings& findings,
                                          google::protobuf::Arena& arena);

// The answer first, aligned, at most a screen or two whatever the capture's size.
std::string RenderText(const v1::ReplayReport& report);

// The standard JSON mapping with proto field names, all fields printed; ends with a line end.
std::string RenderJson(const v1::ReplayReport& report);

}  // namespace rocescope
