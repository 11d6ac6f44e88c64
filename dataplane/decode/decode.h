// SPDX-License-Identifier: BSD-3-Clause
// A frame's walk: link layer, tags, tunnels (at most three), IP, UDP, BTH and what follows it, or
// telemetry.
#pragma once

#include "dataplane/decode/drop_reason.h"
#include "dataplane/decode/frame.h"
#include "dataplane/decode/telemetry_ports.h"

namespace rocescope {

// Walks `raw` and fills `frame`; kNone when it carries RoCE, pause, or telemetry that was sent to
// us and not through a tunnel, as `ports` tell; what that holds is for dataplane/telemetry. Never
// fails otherwise than by a reason, never allocates, never reads outside raw.bytes.
DropReason DecodeFrame(const RawFrame& raw, DecodedFrame& frame, const TelemetryPorts& ports = {});

enum class IcrcResult : uint8_t { kUnknown, kValid, kInvalid };

// Computes the invariant CRC over an uncut RoCE frame; kUnknown for anything else.
IcrcResult CheckIcrc(const DecodedFrame& frame);

}  // namespace rocescope
