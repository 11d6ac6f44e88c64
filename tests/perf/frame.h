// SPDX-License-Identifier: BSD-3-Clause
// Converts a workload packet to the frame that a tap or mirror delivers.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tests/perf/packet.h"

namespace rocescope::perf {

// Lengths are in bytes without FCS.
struct Frame {
  std::span<const uint8_t> bytes;  // at most the snap length; valid until the next Build
  uint32_t length = 0;             // on the appliance's link, with mirror headers
  uint32_t original_length = 0;    // of the frame at the tap
};

// The place where a mirror took the copy.
struct MirrorLocation {
  uint32_t switch_address = 0x0aff'0001;  // IPv4 source of its frames
  uint16_t session = 7;
  bool egress = false;
  uint16_t port = 3;
};

class FrameBuilder {
 public:
  // With `erspan`, frames are encapsulated in ERSPAN III with sequence numbers.
  FrameBuilder(uint32_t snap, bool erspan) : snap_(snap), erspan_(erspan) {}

  // Sets the mirror session of the following frames.
  void SetPlace(const MirrorLocation& place) { place_ = place; }

  // The payload is a pattern and the iCRC is zero, because a snapped capture contains little of the
  // payload and no iCRC.
  Frame Build(const Packet& packet);

 private:
  uint32_t snap_;
  bool erspan_;
  MirrorLocation place_;
  uint32_t sequence_ = 0;
  std::array<uint8_t, 8192> buffer_{};
};

}  // namespace rocescope::perf
