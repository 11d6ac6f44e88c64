// SPDX-License-Identifier: BSD-3-Clause
// Takes frames as they reach the telemetry box: a capture file, or a stream.
#pragma once

#include <cstdint>
#include <span>

#include "base/time.h"

namespace rocescope::sim {

class FrameSink {
 public:
  // An IP packet of 65,535 octets in Ethernet with tags fits.
  static constexpr size_t kMaxBytes = 65'600;

  virtual ~FrameSink() = default;
  // Where to write the next frame, at least kMaxBytes; the same until Add.
  virtual std::span<uint8_t> Room() = 0;
  // The first `captured` octets of Room are a frame that came at `arrival` and has `original`
  // octets, without FCS. Not earlier than the one before.
  virtual void Add(Timestamp arrival, size_t captured, uint32_t original) = 0;
};

}  // namespace rocescope::sim
