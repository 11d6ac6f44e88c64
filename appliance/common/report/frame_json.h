// SPDX-License-Identifier: BSD-3-Clause
// One frame as one line of JSON, for `rocescope decode -o jsonl`. The keys are a stable interface:
// appliance/README.md documents them, and tests verify them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "dataplane/decode/decode.h"

namespace rocescope {

// A frame and the results of its decoding.
struct FrameLine {
  uint64_t number = 0;   // 1-based within its capture, as in Wireshark
  std::string_view tap;  // the tap on which the copy was captured
  const RawFrame& raw;
  DropReason drop = DropReason::kNone;
  const DecodedFrame& decoded;  // valid only if drop is kNone
  IcrcResult icrc = IcrcResult::kUnknown;
  TelemetryPorts ports = {};  // identifies INT inside the packets of reports and samples
};

class JsonLine;

// Appends the keys of a RoCE packet, starting with the IP addresses.
void WritePacketJson(JsonLine& json, const DecodedFrame& frame);

// Appends the object and a line feed.
void AppendFrameJson(fmt::memory_buffer& out, const FrameLine& line);

}  // namespace rocescope
