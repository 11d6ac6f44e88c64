// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/clear_to_send.h"

#include <algorithm>
#include <bit>

#include "dataplane/wire/reader.h"

namespace rocescope {

bool ReadClearToSend(const RocePacket& packet, ClearToSend& grant) {
  constexpr uint32_t kSmallest = 16;
  constexpr uint32_t kLargest = 512;
  const wire::OpcodeTraits& opcode = packet.Traits();
  // The packet must have a RETH, no other extended header, and contain the whole message.
  if (opcode.operation != wire::Operation::kWrite || opcode.header_bytes != wire::Reth::kSize ||
      opcode.reth_at != 0 || !opcode.Is(wire::kOpcodeEnds) || packet.payload_length < kSmallest ||
      packet.payload_length > kLargest || packet.payload_length % 16 != 0 || !packet.HasReth() ||
      packet.GetReth().dma_length != packet.payload_length) {
    return false;
  }
  const std::span<const uint8_t> payload = packet.Payload();
  if (payload.size() < kSmallest) return false;
  wire::ByteReader in(payload);
  grant.address = __builtin_bswap64(in.U64());
  constexpr uint64_t kLowestAddress = 1 << 16;
  constexpr uint64_t kHighestAddress = uint64_t{1} << 57;  // five-level page tables
  if (grant.address < kLowestAddress || grant.address >= kHighestAddress) return false;
  bool any = false;
  for (uint32_t& word : grant.words) {
    word = in.Has(4) ? __builtin_bswap32(in.U32()) : 0;
    any |= word != 0;
  }
  return any;
}

}  // namespace rocescope
