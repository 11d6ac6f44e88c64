// SPDX-License-Identifier: BSD-3-Clause
// Decodes a frame: link layer, VLAN tags, tunnels (at most three), IP, UDP, BTH and the headers
// after it, or telemetry.
#pragma once

#include "dataplane/decode/drop_reason.h"
#include "dataplane/decode/frame.h"
#include "dataplane/decode/telemetry_ports.h"

namespace rocescope {

// Decodes `raw` into `frame`. Returns kNone if the frame carries RoCE, a pause frame, or telemetry
// that was sent to one of `ports` outside of tunnels; dataplane/telemetry decodes the content of
// telemetry. Otherwise returns the drop reason. Never allocates and never reads outside raw.bytes.
DropReason DecodeFrame(const RawFrame& raw, DecodedFrame& frame, const TelemetryPorts& ports = {});

enum class IcrcResult : uint8_t { kUnknown, kValid, kInvalid };

// Verifies the invariant CRC of an uncut RoCE frame. Returns kUnknown for other frames.
IcrcResult CheckIcrc(const DecodedFrame& frame);

}  // namespace rocescope
