// SPDX-License-Identifier: BSD-3-Clause
// NCCL's clear-to-send message: with a small WRITE into a FIFO at the sender, the receiver
// announces the buffer to which the sender may write. The RETH of the sender's next WRITE then
// contains that address (the RETH echo).
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/decode/frame.h"

namespace rocescope {

struct ClearToSend {
  uint64_t address = 0;  // address of the granted buffer
  // Bytes 8 to 31: the size and, at a position that depends on the NCCL release, the rkeys.
  std::array<uint32_t, 6> words{};
};

// True if the packet has the form of a clear-to-send: a single-packet WRITE without immediate data,
// 16 to 512 bytes in steps of 16, whose first eight bytes are a plausible user-space address
// (little-endian) followed by a non-zero word (ncclIbSendFifo of NCCL 2.4 to 2.30: the rkey is at
// byte 8, 12 or 16). A WRITE of application data can look the same; it is then counted as a control
// message, and its grant is never used.
bool ReadClearToSend(const RocePacket& packet, ClearToSend& grant);

}  // namespace rocescope
