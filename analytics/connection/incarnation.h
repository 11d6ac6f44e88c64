// SPDX-License-Identifier: BSD-3-Clause
// Signs that a queue pair number got its next owner.
#pragma once

#include <cstdint>

#include "analytics/connection/flow_state.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum class RestartSign : uint8_t { kNone, kRestart, kMirrorGap };

// What a flow record says, `at_tap` being the flow at the record's tap; notes the record's PSN.
RestartSign RestartSignOf(const FlowState& flow, FlowAtTap& at_tap, const FlowRecord& record);

// Whether a request is the first one of the next owner.
bool Restarts(const FlowState& flow, const ObservationRecord& request);

// Whether a sign at `time` tells of a restart that is known already: signs come from both
// directions and from several taps, within `spacing` or, where the partner's said it, within a
// minute's worth of spacings.
bool IsKnownRestart(const FlowState& flow, Timestamp time, Duration spacing);

}  // namespace rocescope
