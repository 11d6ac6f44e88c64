// SPDX-License-Identifier: BSD-3-Clause
// From what the dataplane counted and the engine inferred to the report message, and from there to
// what a person or a program reads.
#pragma once

#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "base/time.h"
#include "dataplane/lcore/frame_processor.h"

namespace rocescope {

namespace v1 {
class ReplayReport;
}

struct ReplayFindings {
  const FrameProcessor& processor;
  const Snapshot& snapshot;
  Timestamp first_frame;
  Timestamp last_frame;
  std::vector<std::string> notes;
};

v1::ReplayReport BuildReplayReport(const ReplayFindings& findings);

// The answer first, aligned, at most a screen or two whatever the capture's size.
std::string RenderText(const v1::ReplayReport& report);

// The standard JSON mapping with proto field names, all fields printed; ends with a line end.
std::string RenderJson(const v1::ReplayReport& report);

}  // namespace rocescope
