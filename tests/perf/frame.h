// SPDX-License-Identifier: BSD-3-Clause
// Turns a workload's packet into the frame that a tap or a mirror would deliver.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tests/perf/packet.h"

namespace rocescope::perf {

// Lengths in octets without FCS.
struct Frame {
  std::span<const uint8_t> bytes;  // at most the snap length; valid until the next Build
  uint32_t length = 0;             // on the box's wire, with mirror headers
  uint32_t original_length = 0;    // of the frame that the tap saw
};

// Where a mirror took the copy.
struct MirrorLocation {
  uint32_t switch_address = 0x0aff'0001;  // IPv4, which its frames come from
  uint16_t session = 7;
  bool egress = false;
  uint16_t port = 3;
};

class FrameBuilder {
 public:
  // With `erspan`, frames come wrapped up as ERSPAN III, with sequence numbers.
  FrameBuilder(uint32_t snap, bool erspan) : snap_(snap), erspan_(erspan) {}

  // Of the frames that follow, which are of one session.
  void SetPlace(const MirrorLocation& place) { place_ = place; }

  // The payload is a pattern and the iCRC zero: a snapped capture holds little of the one and none
  // of the other.
  Frame Build(const Packet& packet);

 private:
  uint32_t snap_;
  bool erspan_;
  MirrorLocation place_;
  uint32_t sequence_ = 0;
  std::array<uint8_t, 8192> buffer_{};
};

}  // namespace rocescope::perf
