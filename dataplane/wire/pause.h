// SPDX-License-Identifier: BSD-3-Clause
// MAC control frames: PAUSE (IEEE 802.3 annex 31B) and Priority-based Flow Control (802.1Q 36).
// They are link-local: rocescope sees them in host captures and in simulations, but rarely in a
// mirror.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// A MAC control frame is a minimum-size Ethernet frame (802.3, 31.4): the content after the
// EtherType is padded to this size, without FCS.
inline constexpr uint32_t kMacControlSize = 46;

enum MacControlOpcode : uint16_t { kPauseOpcode = 0x0001, kPfcOpcode = 0x0101 };

// The content after EtherType 0x8808. A quantum is 512 bit times of the link.
struct PauseFrame {
  static constexpr size_t kSize = 20;  // size of PFC; PAUSE has 4 and padding
  uint16_t opcode = kPfcOpcode;
  uint16_t class_enable = 0;         // PFC: bit p means that quanta[p] is valid
  std::array<uint16_t, 8> quanta{};  // PAUSE uses only quanta[0]; 0 resumes
};

// For PAUSE, reads its single quantum. The caller checks the opcode.
constexpr void Read(ByteReader& in, PauseFrame& h) {
  h.opcode = in.U16();
  if (h.opcode == kPfcOpcode) {
    h.class_enable = in.U16();
    for (uint16_t& quantum : h.quanta) quantum = in.U16();
  } else {
    h.class_enable = 0;
    h.quanta = {};
    h.quanta[0] = in.U16();
  }
}
constexpr void Write(ByteWriter& out, const PauseFrame& h) {
  out.U16(h.opcode);
  if (h.opcode == kPfcOpcode) {
    out.U16(h.class_enable);
    for (uint16_t quantum : h.quanta) out.U16(quantum);
  } else {
    out.U16(h.quanta[0]);
  }
}
static_assert(EncodedSize<PauseFrame>() == PauseFrame::kSize);

}  // namespace rocescope::wire
