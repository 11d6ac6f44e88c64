// SPDX-License-Identifier: BSD-3-Clause
// Frames of a mirror session: ERSPAN III (draft-foschiano-erspan-03). Independent of the simulated
// network.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"
#include "sim/emit/collector_port.h"
#include "sim/emit/envelope.h"

namespace rocescope::sim {

struct ErspanSession {
  uint16_t number = 0;
  uint32_t sequence = 0;
  uint16_t switch_id = 0;  // the lower ten bits are sent
  Duration clock_error{};
  Envelope envelope;
};

// One copy of a frame.
struct ErspanCopy {
  uint32_t port_index = 0;
  bool names_port = true;
  bool egress = false;
  uint32_t frame_bytes = 0;  // length of the frame without FCS
  uint32_t kept_bytes = 0;   // length of the copy
};

// Writes the headers of a copy that is sent at `now` and returns the buffer for its kept bytes. The
// caller fills it and calls port.End(). Returns an empty span if the copy is lost on the way.
//
// With port information, timestamps are those of IEEE 1588 in nanoseconds, with the seconds and the
// port in the platform sub-header (id 5). Without it, there is no sub-header and the timestamp has
// 32 bits in units of 100 ns.
std::span<uint8_t> BeginErspanCopy(CollectorPort& port, SimTime now, ErspanSession& session,
                                   const ErspanCopy& copy);

}  // namespace rocescope::sim
