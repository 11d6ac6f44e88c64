// SPDX-License-Identifier: BSD-3-Clause
// NCCL's clear-to-send: one of the layouts that struct ncclIbSendFifo in NVIDIA/nccl,
// src/transport/net_ib.cc, has had in its releases. A receiver writes it into the sender's memory
// to grant a buffer. Unlike the headers of RoCE, it has the byte order of the host, which is
// little-endian.
#pragma once

#include <cstdint>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

struct ClearToSend {
  static constexpr size_t kSize = 32;
  uint64_t address = 0;  // start of the granted buffer
  uint32_t length = 0;   // bytes
  uint32_t rkey = 0;
  uint32_t requests = 1;  // receives that share the message
  uint32_t tag = 0;
  uint64_t index = 0;  // counts from 1
};

constexpr void Read(ByteReader& in, ClearToSend& h) {
  const auto at = in.Take<ClearToSend::kSize>();
  h.address = __builtin_bswap64(at.U64<0>());
  h.length = __builtin_bswap32(at.U32<8>());
  h.rkey = __builtin_bswap32(at.U32<12>());
  h.requests = __builtin_bswap32(at.U32<16>());
  h.tag = __builtin_bswap32(at.U32<20>());
  h.index = __builtin_bswap64(at.U64<24>());
}
constexpr void Write(ByteWriter& out, const ClearToSend& h) {
  out.U64(__builtin_bswap64(h.address));
  out.U32(__builtin_bswap32(h.length));
  out.U32(__builtin_bswap32(h.rkey));
  out.U32(__builtin_bswap32(h.requests));
  out.U32(__builtin_bswap32(h.tag));
  out.U64(__builtin_bswap64(h.index));
}
static_assert(EncodedSize<ClearToSend>() == ClearToSend::kSize);

}  // namespace rocescope::wire
