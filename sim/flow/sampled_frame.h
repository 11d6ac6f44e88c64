// SPDX-License-Identifier: BSD-3-Clause
// Builds the frames of a flow that sFlow samples contain.
#pragma once

#include "sim/flow/flow_types.h"
#include "sim/net/frame.h"

namespace rocescope::sim {

// Both functions: `progress` is the number of executions of the collective, or of messages of a
// stream, that the flow has completed. `choice`, a random number in [0, 1), selects the kind of the
// frame; each kind is as frequent as in the traffic.

// A frame of the sender: data, or the ACK of a clear-to-send; or a TCP segment.
Frame SentFrame(const FlowSender& sender, double progress, double choice);
// A frame of the receiver: an ACK, or a clear-to-send; or a TCP ACK.
Frame AnswerFrame(const FlowSender& sender, double progress, double choice);

}  // namespace rocescope::sim
