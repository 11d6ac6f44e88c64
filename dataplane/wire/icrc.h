// SPDX-License-Identifier: BSD-3-Clause
// The invariant CRC of RoCE packets (IBTA vol. 1, 7.8.1; Annex A16.3 for RoCEv1, A17.3.3 for
// RoCEv2): a CRC-32 over what no switch may change. Whatever a switch may change on the way (TOS or
// traffic class, TTL, checksums, flow label, the BTH's congestion octet) counts as ones.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// `network_packet` runs from the first octet of the IPv4 header, IPv6 header or GRH to the end of
// the payload's padding: without the iCRC itself. Bytes that are no whole RoCE packet give some
// number too; to see that they are one is the caller's part.
uint32_t ComputeIcrc(std::span<const uint8_t> network_packet);

// The four last octets carry the CRC with its least significant octet first, unlike every other
// field.
constexpr uint32_t ReadIcrc(std::span<const uint8_t> bytes) {
  return __builtin_bswap32(ByteReader(bytes).U32());
}
constexpr void WriteIcrc(ByteWriter& out, uint32_t icrc) { out.U32(__builtin_bswap32(icrc)); }

}  // namespace rocescope::wire
