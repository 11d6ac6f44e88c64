// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC of RoCE packets (IBTA vol. 1, 7.8.1; Annex A16.3 for RoCEv1, A17.3.3 for
// RoCEv2): a CRC-32 over the fields that switches do not change. Fields that they may change (TOS
// or traffic class, TTL, checksums, flow label, the BTH's congestion byte) are replaced by ones.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// `network_packet` extends from the first byte of the IPv4 header, IPv6 header or GRH to the end of
// the payload's padding, without the iCRC itself. The caller must ensure that it is a complete RoCE
// packet; for other input the result is meaningless.
uint32_t ComputeIcrc(std::span<const uint8_t> network_packet);

// The last four bytes hold the CRC with the least significant byte first, unlike all other fields.
constexpr uint32_t ReadIcrc(std::span<const uint8_t> bytes) {
  return __builtin_bswap32(ByteReader(bytes).U32());
}
constexpr void WriteIcrc(ByteWriter& out, uint32_t icrc) { out.U32(__builtin_bswap32(icrc)); }

}  // namespace rocescope::wire
