// SPDX-License-Identifier: BSD-3-Clause
// INT reports and sFlow datagrams field by field, for `rocescope decode`. appliance/README.md
// documents the keys and units. An error ends the output, with its reason as "error".
#pragma once

#include <cstdint>
#include <span>

#include "appliance/common/report/json_line.h"
#include "dataplane/decode/decode.h"

namespace rocescope {

void WriteIntReportJson(JsonLine& json, const DecodedFrame& frame, const TelemetryPorts& ports);
void WriteSflowJson(JsonLine& json, const DecodedFrame& frame, const TelemetryPorts& ports);

// Writes INT's metadata header and stack from DecodedFrame::int_stack.
void WriteIntStackJson(JsonLine& json, std::span<const uint8_t> stack);

// Writes the key "packet" for the packet header in a report or sample; writes nothing if it is not
// RoCE.
void WriteInnerPacketJson(JsonLine& json, LinkType link_type, std::span<const uint8_t> bytes,
                          const TelemetryPorts& ports);

}  // namespace rocescope
