// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/clear_to_send.h"

#include <algorithm>
#include <bit>

#include "dataplane/wire/reader.h"

namespace rocescope {

bool ReadClearToSend(const DecodedFrame& frame, ClearToSend& grant) {
  constexpr uint32_t kSmallest = 16;
  constexpr uint32_t kLargest = 512;
  if (wire::InfoOf(frame.bth.opcode).headers != wire::kHasReth ||
      wire::InfoOf(frame.bth.opcode).operation != wire::Operation::kWrite ||
      !wire::InfoOf(frame.bth.opcode).ends || frame.payload_length < kSmallest ||
      frame.payload_length > kLargest || frame.payload_length % 16 != 0 ||
      frame.reth.dma_length != frame.payload_length || frame.payload.size() < kSmallest) {
    return false;
  }
  wire::ByteReader in(frame.payload);
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
