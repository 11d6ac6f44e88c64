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
// In ascending order without overlaps, as telemetry.sflow_spans says: around the onset of each
// fault, and at random times. Without it, the whole run.
std::vector<SampledSpan> SampledSpans(const Scenario& scenario);

// Including samples that a switch had not sent when it went down.
struct FlowSflowReport {
  uint64_t packet_samples = 0;
  uint64_t counter_samples = 0;
};

// Writes a capture of the agents' datagrams after a complete run, whose history was taken from
// `model`. Data, acknowledgements, clear-to-sends and TCP segments are sampled. Retransmissions,
// NAKs, CNPs and lost frames are not; they are rare. The number of samples is a Poisson variable
// whose mean is the number of frames divided by the sampling rate. Behind a congested
// port, the share of samples with CE marks is that of frames that the port marked during the span.
// Discarded packets are not reported. kInvalidArgument: too many samples.
Result<FlowSflowReport> WriteFlowSflow(FlowModel& model, const FlowHistory& history,
                                       const std::string& path);

}  // namespace rocescope::sim
