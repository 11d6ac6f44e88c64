// SPDX-License-Identifier: BSD-3-Clause
// TCP (RFC 9293). The simulator writes segments as foreign traffic.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

enum TcpFlag : uint8_t { kTcpPush = 0x08, kTcpAck = 0x10 };

struct TcpHeader {
  static constexpr size_t kSize = 20;  // without options
  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  uint32_t sequence = 0;
  uint32_t acknowledgement = 0;
  uint8_t header_words = 5;  // data offset: header length in 32-bit words, with options
  uint8_t flags = 0;
  uint16_t window = 0;
  uint16_t checksum = 0;
  uint16_t urgent = 0;
};

constexpr void Read(ByteReader& in, TcpHeader& h) {
  const auto at = in.Take<TcpHeader::kSize>();
  h.source_port = at.U16<0>();
  h.destination_port = at.U16<2>();
  h.sequence = at.U32<4>();
  h.acknowledgement = at.U32<8>();
  h.header_words = static_cast<uint8_t>(at.U8<12>() >> 4);
  h.flags = at.U8<13>();
  h.window = at.U16<14>();
  h.checksum = at.U16<16>();
  h.urgent = at.U16<18>();
}
constexpr void Write(ByteWriter& out, const TcpHeader& h) {
  out.U16(h.source_port);
  out.U16(h.destination_port);
  out.U32(h.sequence);
  out.U32(h.acknowledgement);
  out.U8(static_cast<uint8_t>(h.header_words << 4));
  out.U8(h.flags);
  out.U16(h.window);
  out.U16(h.checksum);
  out.U16(h.urgent);
}
static_assert(EncodedSize<TcpHeader>() == TcpHeader::kSize);

// Adds 16-bit words to the sum of an Internet checksum (RFC 1071). An odd last byte is the high
// byte of its word.
constexpr uint64_t AddWords(uint64_t sum, std::span<const uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? uint64_t{bytes[i]} << 8 : uint64_t{bytes[i]};
  }
  return sum;
}
constexpr uint16_t FoldedChecksum(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace rocescope::wire
