// SPDX-License-Identifier: BSD-3-Clause
// sFlow of a run of the flow model: counter samples of all ports of switches during the whole run,
// and packet samples in stated spans of time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/flow/flow_history.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {

struct SampledSpan {
  SimTime begin;
  SimTime end;
  bool operator==(const SampledSpan&) const = default;
};
// The spans in ascending order without overlaps. telemetry.sflow_spans: one around the onset of
// each fault, and others at random times. Without this setting, the only span is the whole run.
std::vector<SampledSpan> SampledSpans(const Scenario& scenario);

// Numbers of samples, including those that a switch had not sent when it went down.
struct FlowSflowReport {
  uint64_t packet_samples = 0;
  uint64_t counter_samples = 0;
};

// Writes a capture of the agents' datagrams after a complete run, whose history was taken from
// `model`. Data, acknowledgements, clear-to-sends and TCP segments are sampled. Retransmissions,
// NAKs, CNPs and lost frames are rare and not sampled. The number of samples follows a Poisson
// distribution whose mean is the number of frames divided by the sampling rate. Samples taken
// behind a congested port have CE marks; their share is that of the frames that the port marked
// during the span. Discarded packets are not reported. kInvalidArgument: too many samples.
Result<FlowSflowReport> WriteFlowSflow(FlowModel& model, const FlowHistory& history,
                                       const std::string& path);

}  // namespace rocescope::sim
