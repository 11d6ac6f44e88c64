// SPDX-License-Identifier: BSD-3-Clause
// Receives frames as they reach the appliance: a capture file or a stream.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"

namespace rocescope::sim {

class FrameSink {
 public:
  // Holds an IP packet of 65,535 bytes in Ethernet with VLAN tags.
  static constexpr size_t kMaxBytes = 65'600;

  virtual ~FrameSink() = default;
  // Returns the buffer for the next frame, with at least kMaxBytes bytes. Returns the same buffer
  // until Add.
  virtual std::span<uint8_t> Room() = 0;
  // Adds the frame in the first `captured` bytes of the buffer. It arrived at `arrival`, not before
  // the previous frame, and has `original` bytes without FCS.
  virtual void Add(Timestamp arrival, size_t captured, uint32_t original) = 0;
};

}  // namespace rocescope::sim
