// SPDX-License-Identifier: BSD-3-Clause
// In-band Network Telemetry inside packets: INT-MD over UDP (P4.org, "In-band Network Telemetry
// (INT) Dataplane Specification" v2.1, chapter "INT Headers"). Inserting it changes a packet's
// headers, which breaks RoCE's invariant CRC. Live RoCE is therefore covered by reports
// (int_report.h); INT-MD occurs in the inner packets of reports and in probes.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// Instruction Bitmap of INT-MD and RepMdBits of reports. Bit 0 is the most significant bit.
enum IntInstruction : uint16_t {
  kIntNodeId = 0x8000,  // reserved in reports, whose group header has the node ID
  kIntPorts = 0x4000,   // level 1: 16 bits each
  kIntHopLatency = 0x2000,
  kIntQueue = 0x1000,             // ID (8 bits), occupancy (24 bits)
  kIntIngressTimestamp = 0x0800,  // 8 bytes
  kIntEgressTimestamp = 0x0400,   // 8 bytes
  kIntLogicalPorts = 0x0200,      // level 2: 32 bits each
  kIntEgressUtilisation = 0x0100,
  kIntBuffer = 0x0080,              // ID (8 bits), occupancy (24 bits)
  kIntReserved = 0x007e,            // bits 9 to 14: four bytes each
  kIntChecksumComplement = 0x0001,  // in INT-MD, after the other metadata of the hop
  kIntDropReason = 0x0001,          // in reports: queue ID (8 bits), drop reason (8 bits)
};

// Number of four-byte words of baseline metadata for `instructions`, in a stack and in a report.
constexpr uint32_t IntMetadataWords(uint16_t instructions) {
  constexpr uint16_t kDouble = kIntIngressTimestamp | kIntEgressTimestamp | kIntLogicalPorts;
  return static_cast<uint32_t>(std::popcount(instructions) +
                               std::popcount(static_cast<uint16_t>(instructions & kDouble)));
}

enum IntHeaderType : uint8_t { kIntTypeMd = 1, kIntTypeDestination = 2, kIntTypeMx = 3 };

// Shim header between the UDP header and the INT header ("INT over TCP/UDP").
struct IntShim {
  static constexpr size_t kSize = 4;
  // Meaning of `original`. kNone: INT was not recognised by the UDP port.
  enum NextProtocol : uint8_t { kNone = 0, kUdpPayload = 1, kLayer4 = 2 };

  uint8_t type = kIntTypeMd;      // 4 bits
  uint8_t next_protocol = kNone;  // NPT, 2 bits
  uint8_t length_words = 3;       // length of the INT headers and metadata after this shim
  // kUdpPayload: the original UDP destination port; kLayer4: the IP protocol; kNone: DSCP << 2.
  uint16_t original = 0;
};

constexpr void Read(ByteReader& in, IntShim& h) {
  const auto at = in.Take<IntShim::kSize>();
  h.type = at.U8<0>() >> 4;
  h.next_protocol = at.U8<0>() >> 2 & 3;
  h.length_words = at.U8<1>();
  h.original = at.U16<2>();
}
constexpr void Write(ByteWriter& out, const IntShim& h) {
  out.U8(static_cast<uint8_t>(h.type << 4 | (h.next_protocol & 3) << 2));
  out.U8(h.length_words);
  out.U16(h.original);
}
static_assert(EncodedSize<IntShim>() == IntShim::kSize);

// "INT-MD Metadata Header Format". The metadata stack follows, beginning with the last hop.
struct IntMdHeader {
  static constexpr size_t kSize = 12;
  uint8_t version = 2;
  bool discard = false;  // D: a copy or probe that the sink must discard
  // E: a hop could not add its metadata because the hop count was exhausted.
  bool hops_exceeded = false;
  bool mtu_exceeded = false;  // M: a hop could not add its metadata because of the MTU
  uint8_t hop_words = 0;      // Hop ML, 5 bits: metadata per hop in four-byte words
  uint8_t remaining_hops = 0;
  uint16_t instructions = 0;  // IntInstruction
  uint16_t domain_id = 0;     // 0: no domain; the following two fields are unused
  uint16_t domain_instructions = 0;
  uint16_t domain_flags = 0;
};

constexpr void Read(ByteReader& in, IntMdHeader& h) {
  const auto at = in.Take<IntMdHeader::kSize>();
  const uint32_t first = at.U32<0>();
  h.version = static_cast<uint8_t>(first >> 28);
  h.discard = (first >> 27 & 1) != 0;
  h.hops_exceeded = (first >> 26 & 1) != 0;
  h.mtu_exceeded = (first >> 25 & 1) != 0;
  h.hop_words = static_cast<uint8_t>(first >> 8 & 0x1f);
  h.remaining_hops = static_cast<uint8_t>(first);
  h.instructions = at.U16<4>();
  h.domain_id = at.U16<6>();
  h.domain_instructions = at.U16<8>();
  h.domain_flags = at.U16<10>();
}
constexpr void Write(ByteWriter& out, const IntMdHeader& h) {
  out.U32(uint32_t{h.version} << 28 | (h.discard ? 1u << 27 : 0) |
          (h.hops_exceeded ? 1u << 26 : 0) | (h.mtu_exceeded ? 1u << 25 : 0) |
          uint32_t{h.hop_words & 0x1fu} << 8 | h.remaining_hops);
  out.U16(h.instructions);
  out.U16(h.domain_id);
  out.U16(h.domain_instructions);
  out.U16(h.domain_flags);
}
static_assert(EncodedSize<IntMdHeader>() == IntMdHeader::kSize);

// INT metadata of one hop. The specification leaves the units to the device; rocescope uses
// nanoseconds and bytes, and its simulator writes these.
struct IntMetadata {
  uint16_t present =
      0;  // IntInstruction bits that were requested and are not all ones ("not available")
  uint32_t node_id = 0;
  uint16_t ingress_port = 0;
  uint16_t egress_port = 0;
  uint32_t hop_latency = 0;
  uint8_t queue_id = 0;            // also next to a drop reason
  uint32_t queue_occupancy = 0;    // 24 bits
  uint64_t ingress_timestamp = 0;  // by the node's own clock
  uint64_t egress_timestamp = 0;
  uint32_t ingress_logical_port = 0;
  uint32_t egress_logical_port = 0;
  uint32_t egress_utilisation = 0;
  uint8_t buffer_id = 0;
  uint32_t buffer_occupancy = 0;  // 24 bits
  uint32_t checksum_complement = 0;
  uint8_t drop_reason = 0;

  constexpr bool Has(uint16_t bits) const { return (present & bits) == bits; }
};

namespace internal {

// Removes values of all ones ("not available") from `present`.
constexpr uint32_t TakeU32(ByteReader& in, uint16_t bit, IntMetadata& m) {
  const uint32_t value = in.U32();
  if (value != UINT32_MAX) m.present |= bit;
  return value;
}
constexpr uint64_t TakeU64(ByteReader& in, uint16_t bit, IntMetadata& m) {
  const uint64_t value = in.U64();
  if (value != UINT64_MAX) m.present |= bit;
  return value;
}

// Bits 1 to 14, which stacks and reports share.
constexpr void ReadSharedMetadata(ByteReader& in, uint16_t bits, IntMetadata& m) {
  if (bits & kIntPorts) {
    const uint32_t ports = TakeU32(in, kIntPorts, m);
    m.ingress_port = static_cast<uint16_t>(ports >> 16);
    m.egress_port = static_cast<uint16_t>(ports);
  }
  if (bits & kIntHopLatency) m.hop_latency = TakeU32(in, kIntHopLatency, m);
  if (bits & kIntQueue) {
    const uint32_t queue = TakeU32(in, kIntQueue, m);
    m.queue_id = static_cast<uint8_t>(queue >> 24);
    m.queue_occupancy = queue & 0xffffff;
  }
  if (bits & kIntIngressTimestamp) m.ingress_timestamp = TakeU64(in, kIntIngressTimestamp, m);
  if (bits & kIntEgressTimestamp) m.egress_timestamp = TakeU64(in, kIntEgressTimestamp, m);
  if (bits & kIntLogicalPorts) {
    const uint64_t ports = TakeU64(in, kIntLogicalPorts, m);
    m.ingress_logical_port = static_cast<uint32_t>(ports >> 32);
    m.egress_logical_port = static_cast<uint32_t>(ports);
  }
  if (bits & kIntEgressUtilisation) m.egress_utilisation = TakeU32(in, kIntEgressUtilisation, m);
  if (bits & kIntBuffer) {
    const uint32_t buffer = TakeU32(in, kIntBuffer, m);
    m.buffer_id = static_cast<uint8_t>(buffer >> 24);
    m.buffer_occupancy = buffer & 0xffffff;
  }
  in.Skip(4 * IntMetadataWords(bits & kIntReserved));
}

// Writes all ones for values that were requested and are not `present`.
constexpr void PutU32(ByteWriter& out, bool there, uint32_t value) {
  out.U32(there ? value : UINT32_MAX);
}
constexpr void PutU64(ByteWriter& out, bool there, uint64_t value) {
  out.U64(there ? value : UINT64_MAX);
}

constexpr void WriteSharedMetadata(ByteWriter& out, uint16_t bits, const IntMetadata& m) {
  const auto with_id = [](uint8_t id, uint32_t occupancy) {
    return uint32_t{id} << 24 | (occupancy & 0xffffff);
  };
  if (bits & kIntPorts) {
    PutU32(out, m.Has(kIntPorts), uint32_t{m.ingress_port} << 16 | m.egress_port);
  }
  if (bits & kIntHopLatency) PutU32(out, m.Has(kIntHopLatency), m.hop_latency);
  if (bits & kIntQueue) PutU32(out, m.Has(kIntQueue), with_id(m.queue_id, m.queue_occupancy));
  if (bits & kIntIngressTimestamp) {
    PutU64(out, m.Has(kIntIngressTimestamp), m.ingress_timestamp);
  }
  if (bits & kIntEgressTimestamp) PutU64(out, m.Has(kIntEgressTimestamp), m.egress_timestamp);
  if (bits & kIntLogicalPorts) {
    PutU64(out, m.Has(kIntLogicalPorts),
           uint64_t{m.ingress_logical_port} << 32 | m.egress_logical_port);
  }
  if (bits & kIntEgressUtilisation) {
    PutU32(out, m.Has(kIntEgressUtilisation), m.egress_utilisation);
  }
  if (bits & kIntBuffer) PutU32(out, m.Has(kIntBuffer), with_id(m.buffer_id, m.buffer_occupancy));
  for (uint32_t left = IntMetadataWords(bits & kIntReserved); left > 0; --left) {
    out.U32(UINT32_MAX);
  }
}

}  // namespace internal

// Reads one hop of an INT-MD stack; `domain` are its domain-specific bytes. Reads Hop ML * 4 bytes,
// or clears in.ok() if `header` requests more than Hop ML holds.
constexpr void ReadIntHop(ByteReader& in, const IntMdHeader& header, IntMetadata& m,
                          std::span<const uint8_t>& domain) {
  m = {};
  ByteReader hop(in.Bytes(size_t{header.hop_words} * 4));
  if (header.instructions & kIntNodeId) m.node_id = internal::TakeU32(hop, kIntNodeId, m);
  internal::ReadSharedMetadata(hop, header.instructions, m);
  const size_t complement = header.instructions & kIntChecksumComplement ? 4 : 0;
  domain = hop.Bytes(hop.remaining() < complement ? 0 : hop.remaining() - complement);
  if (complement != 0) {
    m.checksum_complement = internal::TakeU32(hop, kIntChecksumComplement, m);
  }
  if (!hop.ok()) in.Skip(in.remaining() + 1);
}
constexpr void WriteIntHop(ByteWriter& out, const IntMdHeader& header, const IntMetadata& m,
                           std::span<const uint8_t> domain = {}) {
  if (header.instructions & kIntNodeId) internal::PutU32(out, m.Has(kIntNodeId), m.node_id);
  internal::WriteSharedMetadata(out, header.instructions, m);
  out.Bytes(domain);
  if (header.instructions & kIntChecksumComplement) {
    internal::PutU32(out, m.Has(kIntChecksumComplement), m.checksum_complement);
  }
}

// Number of hops in a stack of `stack_words` four-byte words. Source-only metadata can make the
// stack longer.
constexpr uint32_t IntHopsIn(const IntMdHeader& header, uint32_t stack_words) {
  return header.hop_words == 0 ? 0 : stack_words / header.hop_words;
}

}  // namespace rocescope::wire
