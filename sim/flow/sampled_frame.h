// SPDX-License-Identifier: BSD-3-Clause
// The frames of a flow of the flow model, as samples show them.
#pragma once

#include "sim/flow/flow_types.h"
#include "sim/net/frame.h"

namespace rocescope::sim {

// `progress`: runs of the collective, or messages of a stream, that the flow has completed.
// `choice`: in [0, 1); selects among the kinds of frames in their proportions.

// From the sender: data, or the ACK of a clear-to-send; or a TCP segment.
Frame SentFrame(const FlowSender& sender, double progress, double choice);
// From the receiver: an ACK, or a clear-to-send; or an ACK of TCP.
Frame AnswerFrame(const FlowSender& sender, double progress, double choice);

}  // namespace rocescope::sim
