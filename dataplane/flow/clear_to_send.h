// SPDX-License-Identifier: BSD-3-Clause
// NCCL's clear-to-send: the receiver tells the sender where to write, with a small WRITE into a
// FIFO at the sender. What it names is what the sender's next WRITE uses: the RETH echo.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/decode/frame.h"

namespace rocescope {

struct ClearToSend {
  uint64_t address = 0;             // of the buffer that it grants
  std::array<uint32_t, 6> words{};  // octets 8 to 31: the size and, place by release, the rkeys
};

// True if the packet has that form: a single-packet WRITE without immediate data, 16 to 512 octets
// in steps of 16, whose first eight octets, little-endian, are a plausible user-space address, and
// in which a non-zero word follows (ncclIbSendFifo of NCCL 2.4 to 2.30: the rkey stands at octet 8,
// 12 or 16). A WRITE of application data can look alike; one whose grant is never used does no
// harm beyond being counted as control.
bool ReadClearToSend(const RocePacket& packet, ClearToSend& grant);

}  // namespace rocescope
