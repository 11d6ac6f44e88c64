// SPDX-License-Identifier: BSD-3-Clause
// One frame as one line of JSON: what `rocescope decode -o jsonl` prints. The keys, their units and
// when each is there stand in appliance/README.md; they are an interface, tests hold them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "dataplane/decode/decode.h"

namespace rocescope {

// A frame, and what the walk through it said.
struct FrameLine {
  uint64_t number = 0;   // 1-based, in its capture, as Wireshark counts
  std::string_view tap;  // where the copy was taken
  const RawFrame& raw;
  DropReason drop = DropReason::kNone;
  const DecodedFrame& decoded;  // read only if drop is kNone
  IcrcResult icrc = IcrcResult::kUnknown;
  TelemetryPorts ports = {};  // by which INT inside the packets of reports and samples is known
};

class JsonLine;

// The keys of a RoCE packet, from the IP addresses on.
void WritePacketJson(JsonLine& json, const DecodedFrame& frame);

// Appends the object and a line feed.
void AppendFrameJson(fmt::memory_buffer& out, const FrameLine& line);

}  // namespace rocescope
