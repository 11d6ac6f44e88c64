// SPDX-License-Identifier: BSD-3-Clause
// sFlow version 5, a UDP datagram of samples (sflow.org, "sFlow Version 5" of July 2004, section 5;
// dropped packets: "sFlow Dropped Packet Notification Structures" of October 2020). It uses XDR:
// all sizes are multiples of four bytes. Each sample, and each record in it, has a tag (enterprise,
// format) and a length, so that unknown ones can be skipped.
#pragma once

#include <cstdint>
#include <span>

#include "base/address.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// Enterprise in the upper 20 bits, format in the lower 12 bits.
constexpr uint32_t SflowTag(uint32_t enterprise, uint32_t format) {
  return enterprise << 12 | format;
}
constexpr uint32_t SflowEnterprise(uint32_t tag) { return tag >> 12; }
constexpr uint32_t SflowFormat(uint32_t tag) { return tag & 0xfff; }

// sample_data (sflow.org/developers/structures.php).
enum SflowSampleTag : uint32_t {
  kSflowFlowSample = 1,
  kSflowCounterSample = 2,
  kSflowExpandedFlowSample = 3,
  kSflowExpandedCounterSample = 4,
  kSflowDiscardedPacket = 5,
};

// An address preceded by its type: 1 for IPv4, 2 for IPv6, 0 for none. Other types clear in.ok().
constexpr void Read(ByteReader& in, IpAddress& address) {
  address = {};
  switch (in.U32()) {
    case 0:
      break;
    case 1:
      address = IpAddress::FromV4(in.U32());
      break;
    case 2:
      address.high = in.U64();
      address.low = in.U64();
      break;
    default:
      in.Skip(in.remaining() + 1);
  }
}
constexpr void Write(ByteWriter& out, const IpAddress& address) {
  if (address.IsV4()) {
    out.U32(1);
    out.U32(address.V4());
  } else if (address.high == 0 && address.low == 0) {
    out.U32(0);
  } else {
    out.U32(2);
    out.U64(address.high);
    out.U64(address.low);
  }
}

// The header before the samples. Its size depends on the type of the agent's address.
struct SflowDatagramHeader {
  static constexpr size_t kSize = 28;  // with an IPv4 agent
  uint32_t version = 5;
  IpAddress agent = IpAddress::FromV4(0);
  uint32_t sub_agent = 0;
  uint32_t sequence = 0;   // counts datagrams from one agent and sub-agent
  uint32_t uptime_ms = 0;  // since the agent's start
  uint32_t samples = 0;
};

// For other versions only `version` is read, because their layout differs.
constexpr void Read(ByteReader& in, SflowDatagramHeader& h) {
  h = {};
  h.version = in.U32();
  if (h.version != 5) return;
  Read(in, h.agent);
  h.sub_agent = in.U32();
  h.sequence = in.U32();
  h.uptime_ms = in.U32();
  h.samples = in.U32();
}
constexpr void Write(ByteWriter& out, const SflowDatagramHeader& h) {
  out.U32(h.version);
  Write(out, h.agent);
  out.U32(h.sub_agent);
  out.U32(h.sequence);
  out.U32(h.uptime_ms);
  out.U32(h.samples);
}
static_assert(EncodedSize<SflowDatagramHeader>() == SflowDatagramHeader::kSize);

// The tag and length before a sample or a record.
struct SflowBlock {
  static constexpr size_t kSize = 8;
  uint32_t tag = 0;
  uint32_t length = 0;  // bytes after this field
};
constexpr void Read(ByteReader& in, SflowBlock& h) {
  const auto at = in.Take<SflowBlock::kSize>();
  h.tag = at.U32<0>();
  h.length = at.U32<4>();
}
constexpr void Write(ByteWriter& out, const SflowBlock& h) {
  out.U32(h.tag);
  out.U32(h.length);
}
static_assert(EncodedSize<SflowBlock>() == SflowBlock::kSize);

// The kind of object that a sample or counter refers to.
enum SflowSourceClass : uint32_t {
  kSflowSourceInterface = 0,  // index: SNMP ifIndex
  kSflowSourceVlan = 1,
  kSflowSourceEntity = 2,         // entPhysicalIndex
  kSflowSourceLogicalEntity = 3,  // entLogicalIndex
};
struct SflowSource {
  uint32_t source_class = kSflowSourceInterface;
  uint32_t index = 0;
};

// The input or output interface of a packet. Format 0: `value` is an ifIndex, 0 for unknown. Format
// 1: the packet was discarded for the reason `value`. Format 2: the packet left through `value`
// interfaces, 0 for an unknown number.
struct SflowInterface {
  uint32_t format = 0;
  uint32_t value = 0;

  // Used in compact samples for packets that the agent itself sends or receives.
  static constexpr uint32_t kInternal = 0x3fffffff;
};

namespace internal {

// Compact forms have 8 bits for a source's class and 2 bits for an interface's format.
constexpr void ReadSource(ByteReader& in, bool expanded, SflowSource& source) {
  const uint32_t first = in.U32();
  source.source_class = expanded ? first : first >> 24;
  source.index = expanded ? in.U32() : first & 0xffffff;
}
constexpr void WriteSource(ByteWriter& out, bool expanded, const SflowSource& source) {
  if (expanded) {
    out.U32(source.source_class);
    out.U32(source.index);
  } else {
    out.U32(source.source_class << 24 | (source.index & 0xffffff));
  }
}
constexpr void ReadInterface(ByteReader& in, bool expanded, SflowInterface& interface) {
  const uint32_t first = in.U32();
  interface.format = expanded ? first : first >> 30;
  interface.value = expanded ? in.U32() : first & 0x3fffffff;
}
constexpr void WriteInterface(ByteWriter& out, bool expanded, const SflowInterface& interface) {
  if (expanded) {
    out.U32(interface.format);
    out.U32(interface.value);
  } else {
    out.U32(interface.format << 30 | (interface.value & 0x3fffffff));
  }
}

}  // namespace internal

// flow_sample and flow_sample_expanded, without the records that follow.
struct SflowFlowSample {
  static constexpr size_t kSize = 32;          // compact
  static constexpr size_t kExpandedSize = 44;  // expanded
  bool expanded = false;                       // not on the wire: determined by the sample's tag
  uint32_t sequence = 0;                       // counts flow samples from one source
  SflowSource source;
  uint32_t sampling_rate = 0;  // one of this number of packets is sampled
  uint32_t sample_pool = 0;    // packets that could have been sampled
  uint32_t drops = 0;          // samples lost inside the agent
  SflowInterface input;
  SflowInterface output;
  uint32_t records = 0;
};

// h.expanded selects the form; the caller sets it according to the tag.
constexpr void Read(ByteReader& in, SflowFlowSample& h) {
  h.sequence = in.U32();
  internal::ReadSource(in, h.expanded, h.source);
  h.sampling_rate = in.U32();
  h.sample_pool = in.U32();
  h.drops = in.U32();
  internal::ReadInterface(in, h.expanded, h.input);
  internal::ReadInterface(in, h.expanded, h.output);
  h.records = in.U32();
}
constexpr void Write(ByteWriter& out, const SflowFlowSample& h) {
  out.U32(h.sequence);
  internal::WriteSource(out, h.expanded, h.source);
  out.U32(h.sampling_rate);
  out.U32(h.sample_pool);
  out.U32(h.drops);
  internal::WriteInterface(out, h.expanded, h.input);
  internal::WriteInterface(out, h.expanded, h.output);
  out.U32(h.records);
}
static_assert(EncodedSize<SflowFlowSample>() == SflowFlowSample::kSize);

// counters_sample and counters_sample_expanded.
struct SflowCounterSample {
  static constexpr size_t kSize = 12;
  static constexpr size_t kExpandedSize = 16;
  bool expanded = false;  // as in SflowFlowSample
  uint32_t sequence = 0;  // counts counter samples from one source
  SflowSource source;
  uint32_t records = 0;
};

constexpr void Read(ByteReader& in, SflowCounterSample& h) {
  h.sequence = in.U32();
  internal::ReadSource(in, h.expanded, h.source);
  h.records = in.U32();
}
constexpr void Write(ByteWriter& out, const SflowCounterSample& h) {
  out.U32(h.sequence);
  internal::WriteSource(out, h.expanded, h.source);
  out.U32(h.records);
}
static_assert(EncodedSize<SflowCounterSample>() == SflowCounterSample::kSize);

// discarded_packet, which is always expanded.
struct SflowDiscardedPacket {
  static constexpr size_t kSize = 32;
  uint32_t sequence = 0;  // counts discarded packet samples from one source
  SflowSource source;
  uint32_t drops = 0;   // discarded packets that the agent could not report
  uint32_t input = 0;   // ifIndex, 0 for unknown
  uint32_t output = 0;  // ifIndex, 0 for unknown
  uint32_t reason = 0;  // SflowDropReason
  uint32_t records = 0;
};

constexpr void Read(ByteReader& in, SflowDiscardedPacket& h) {
  const auto at = in.Take<SflowDiscardedPacket::kSize>();
  h.sequence = at.U32<0>();
  h.source.source_class = at.U32<4>();
  h.source.index = at.U32<8>();
  h.drops = at.U32<12>();
  h.input = at.U32<16>();
  h.output = at.U32<20>();
  h.reason = at.U32<24>();
  h.records = at.U32<28>();
}
constexpr void Write(ByteWriter& out, const SflowDiscardedPacket& h) {
  out.U32(h.sequence);
  internal::WriteSource(out, true, h.source);
  out.U32(h.drops);
  out.U32(h.input);
  out.U32(h.output);
  out.U32(h.reason);
  out.U32(h.records);
}
static_assert(EncodedSize<SflowDiscardedPacket>() == SflowDiscardedPacket::kSize);

// The reasons for dropping a packet that occur in a RoCE fabric. Values 0 to 15 of the
// specification are ICMP's codes for "destination unreachable"; it defines many more.
enum SflowDropReason : uint32_t {
  kSflowDropHostUnreachable = 1,
  kSflowDropUnknown = 256,
  kSflowDropTtlExceeded = 257,
  kSflowDropAcl = 258,
  kSflowDropNoBufferSpace = 259,
  kSflowDropRed = 260,
  kSflowDropTrafficShaping = 261,
  kSflowDropPacketTooBig = 262,
  kSflowDropBlackholeRoute = 269,
};

}  // namespace rocescope::wire
