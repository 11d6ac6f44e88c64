// SPDX-License-Identifier: BSD-3-Clause
// INT reports and sFlow datagrams, field by field: what `rocescope decode` prints of them. Keys and
// units stand in appliance/README.md. What is wrong ends the walk, with its reason as "error".
#pragma once

#include <cstdint>
#include <span>

#include "appliance/common/report/json_line.h"
#include "dataplane/decode/decode.h"

namespace rocescope {

void WriteIntReportJson(JsonLine& json, const DecodedFrame& frame, const TelemetryPorts& ports);
void WriteSflowJson(JsonLine& json, const DecodedFrame& frame, const TelemetryPorts& ports);

// INT's metadata header and stack, as DecodedFrame::int_stack has them.
void WriteIntStackJson(JsonLine& json, std::span<const uint8_t> stack);

// The packet whose front a report or sample holds, under "packet"; nothing if it is no RoCE.
void WriteInnerPacketJson(JsonLine& json, LinkType link_type, std::span<const uint8_t> bytes,
                          const TelemetryPorts& ports);

}  // namespace rocescope
