// SPDX-License-Identifier: BSD-3-Clause
// Detects that a queue pair number has a new owner.
#pragma once

#include <cstdint>

#include "analytics/connection/flow_state.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum class RestartSign : uint8_t { kNone, kRestart, kMirrorGap };

// Evaluates a flow record and stores its PSN. `at_tap` is the flow's state at the record's tap.
RestartSign RestartSignOf(const FlowState& flow, FlowAtTap& at_tap, const FlowRecord& record);

// Whether a request is the first one of a new owner.
bool Restarts(const FlowState& flow, const ObservationRecord& request);

// Whether a sign at `time` belongs to a known restart. Signs arrive from both directions and
// several taps, within `spacing`; if the partner's sign closed the connection, within a minute's
// worth of spacings.
bool IsKnownRestart(const FlowState& flow, Timestamp time, Duration spacing);

}  // namespace rocescope
