// SPDX-License-Identifier: BSD-3-Clause
// The InfiniBand transport headers of RoCE (IBTA vol. 1, chapter 9; Annex A17 for RoCEv2).
#pragma once

#include <cstdint>

#include "base/qpn.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

inline constexpr size_t kIcrcSize = 4;  // invariant CRC, the last four bytes (7.8.1)

// Base Transport Header (9.2). FECN and BECN are the congestion bits of Annex A10; RoCEv2 CNPs set
// BECN.
struct Bth {
  static constexpr size_t kSize = 12;
  uint8_t opcode = 0;
  bool solicited_event = false;
  bool migration_request = false;
  uint8_t pad_count = 0;          // 0 to 3
  uint8_t transport_version = 0;  // 0 is the only defined version
  uint16_t partition_key = 0;
  bool fecn = false;
  bool becn = false;
  Qpn destination_qpn;
  bool ack_request = false;
  uint32_t psn = 0;  // 24 bits
};

constexpr void Read(ByteReader& in, Bth& h) {
  const auto at = in.Take<Bth::kSize>();
  const uint64_t first = at.U64<0>();
  const uint32_t last = at.U32<8>();
  h.opcode = static_cast<uint8_t>(first >> 56);
  h.solicited_event = (first >> 55 & 1) != 0;
  h.migration_request = (first >> 54 & 1) != 0;
  h.pad_count = static_cast<uint8_t>(first >> 52 & 3);
  h.transport_version = static_cast<uint8_t>(first >> 48 & 0xf);
  h.partition_key = static_cast<uint16_t>(first >> 32);
  h.fecn = (first >> 31 & 1) != 0;
  h.becn = (first >> 30 & 1) != 0;
  h.destination_qpn.value = static_cast<uint32_t>(first) & k24BitMask;
  h.ack_request = (last >> 31 & 1) != 0;
  h.psn = last & k24BitMask;
}
constexpr void Write(ByteWriter& out, const Bth& h) {
  out.U8(h.opcode);
  out.U8(static_cast<uint8_t>((h.solicited_event ? 0x80 : 0) | (h.migration_request ? 0x40 : 0) |
                              (h.pad_count & 3) << 4 | (h.transport_version & 0xf)));
  out.U16(h.partition_key);
  out.U8(static_cast<uint8_t>((h.fecn ? 0x80 : 0) | (h.becn ? 0x40 : 0)));
  out.U24(h.destination_qpn.value);
  out.U8(h.ack_request ? 0x80 : 0);
  out.U24(h.psn);
}
static_assert(EncodedSize<Bth>() == Bth::kSize);

// RDMA Extended Transport Header (9.3.3): the remote buffer of a WRITE or READ.
struct Reth {
  static constexpr size_t kSize = 16;
  uint64_t virtual_address = 0;
  uint32_t rkey = 0;
  uint32_t dma_length = 0;  // bytes of the whole message
};

constexpr void Read(ByteReader& in, Reth& h) {
  const auto at = in.Take<Reth::kSize>();
  h.virtual_address = at.U64<0>();
  h.rkey = at.U32<8>();
  h.dma_length = at.U32<12>();
}
constexpr void Write(ByteWriter& out, const Reth& h) {
  out.U64(h.virtual_address);
  out.U32(h.rkey);
  out.U32(h.dma_length);
}
static_assert(EncodedSize<Reth>() == Reth::kSize);

// ACK Extended Transport Header (9.3.5, syndromes in 9.7.5.2).
struct Aeth {
  static constexpr size_t kSize = 4;
  uint8_t syndrome = 0;
  uint32_t msn = 0;  // 24 bits
};

enum class AethKind : uint8_t { kAck, kRnrNak, kReserved, kNak };
constexpr AethKind KindOf(const Aeth& h) { return static_cast<AethKind>(h.syndrome >> 5 & 3); }
// The low five bits: credits of an ACK, timer of an RNR NAK, or code of a NAK.
constexpr uint8_t ValueOf(const Aeth& h) { return h.syndrome & 0x1f; }

enum NakCode : uint8_t {
  kNakPsnSequenceError = 0,
  kNakInvalidRequest = 1,
  kNakRemoteAccessError = 2,
  kNakRemoteOperationalError = 3,
  kNakInvalidRdRequest = 4,
};

constexpr void Read(ByteReader& in, Aeth& h) {
  const auto at = in.Take<Aeth::kSize>();
  h.syndrome = at.U8<0>();
  h.msn = at.U24<1>();
}
constexpr void Write(ByteWriter& out, const Aeth& h) {
  out.U8(h.syndrome);
  out.U24(h.msn);
}
static_assert(EncodedSize<Aeth>() == Aeth::kSize);

// Datagram Extended Transport Header (9.3.2).
struct Deth {
  static constexpr size_t kSize = 8;
  uint32_t queue_key = 0;
  Qpn source_qpn;
};

constexpr void Read(ByteReader& in, Deth& h) {
  const auto at = in.Take<Deth::kSize>();
  h.queue_key = at.U32<0>();
  h.source_qpn.value = at.U32<4>() & k24BitMask;
}
constexpr void Write(ByteWriter& out, const Deth& h) {
  out.U32(h.queue_key);
  out.U32(h.source_qpn.value & k24BitMask);
}
static_assert(EncodedSize<Deth>() == Deth::kSize);

// Reliable Datagram and XRC headers (9.3.1, Annex A14).
struct Rdeth {
  static constexpr size_t kSize = 4;
  uint32_t ee_context = 0;  // 24 bits
};
constexpr void Read(ByteReader& in, Rdeth& h) {
  const auto at = in.Take<Rdeth::kSize>();
  h.ee_context = at.U32<0>() & k24BitMask;
}
constexpr void Write(ByteWriter& out, const Rdeth& h) { out.U32(h.ee_context & k24BitMask); }
static_assert(EncodedSize<Rdeth>() == Rdeth::kSize);

struct Xrceth {
  static constexpr size_t kSize = 4;
  uint32_t srq_number = 0;  // 24 bits
};
constexpr void Read(ByteReader& in, Xrceth& h) {
  const auto at = in.Take<Xrceth::kSize>();
  h.srq_number = at.U32<0>() & k24BitMask;
}
constexpr void Write(ByteWriter& out, const Xrceth& h) { out.U32(h.srq_number & k24BitMask); }
static_assert(EncodedSize<Xrceth>() == Xrceth::kSize);

// Atomic headers (9.3.4, 9.3.5.3).
struct AtomicEth {
  static constexpr size_t kSize = 28;
  uint64_t virtual_address = 0;
  uint32_t rkey = 0;
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;
};
constexpr void Read(ByteReader& in, AtomicEth& h) {
  const auto at = in.Take<AtomicEth::kSize>();
  h.virtual_address = at.U64<0>();
  h.rkey = at.U32<8>();
  h.swap_or_add = at.U64<12>();
  h.compare = at.U64<20>();
}
constexpr void Write(ByteWriter& out, const AtomicEth& h) {
  out.U64(h.virtual_address);
  out.U32(h.rkey);
  out.U64(h.swap_or_add);
  out.U64(h.compare);
}
static_assert(EncodedSize<AtomicEth>() == AtomicEth::kSize);

struct AtomicAckEth {
  static constexpr size_t kSize = 8;
  uint64_t original_data = 0;
};
constexpr void Read(ByteReader& in, AtomicAckEth& h) {
  const auto at = in.Take<AtomicAckEth::kSize>();
  h.original_data = at.U64<0>();
}
constexpr void Write(ByteWriter& out, const AtomicAckEth& h) { out.U64(h.original_data); }
static_assert(EncodedSize<AtomicAckEth>() == AtomicAckEth::kSize);

// Immediate data (9.3.6) and the rkey of SEND with Invalidate (9.3.7).
struct ImmDt {
  static constexpr size_t kSize = 4;
  uint32_t data = 0;
};
constexpr void Read(ByteReader& in, ImmDt& h) {
  const auto at = in.Take<ImmDt::kSize>();
  h.data = at.U32<0>();
}
constexpr void Write(ByteWriter& out, const ImmDt& h) { out.U32(h.data); }
static_assert(EncodedSize<ImmDt>() == ImmDt::kSize);

struct Ieth {
  static constexpr size_t kSize = 4;
  uint32_t rkey = 0;
};
constexpr void Read(ByteReader& in, Ieth& h) {
  const auto at = in.Take<Ieth::kSize>();
  h.rkey = at.U32<0>();
}
constexpr void Write(ByteWriter& out, const Ieth& h) { out.U32(h.rkey); }
static_assert(EncodedSize<Ieth>() == Ieth::kSize);
}  // namespace rocescope::wire
