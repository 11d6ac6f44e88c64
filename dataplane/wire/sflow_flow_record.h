// SPDX-License-Identifier: BSD-3-Clause
// Records in sFlow's flow samples and discarded packet samples: flow_data ("sFlow Version 5",
// section 5.3; "sFlow Transit Delay Structures" of December 2020 for transit delay and queue
// depth).
#pragma once

#include <cstdint>
#include <span>

#include "base/address.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/sflow.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// sflow.org/developers/structures.php.
enum SflowFlowRecordTag : uint32_t {
  kSflowSampledHeader = 1,
  kSflowExtendedSwitch = 1001,
  kSflowExtendedRouter = 1002,
  kSflowEgressQueue = 1036,
  kSflowTransitDelay = 1039,
  kSflowQueueDepth = 1040,
};

enum SflowHeaderProtocol : uint32_t {
  kSflowHeaderEthernet = 1,
  kSflowHeaderIpv4 = 11,
  kSflowHeaderIpv6 = 12,
};

// The front of a packet, as raw octets; padded to whole words. `octets` points into what was read.
struct SflowSampledHeader {
  static constexpr size_t kSize = 16;  // without octets
  uint32_t protocol = kSflowHeaderEthernet;
  uint32_t frame_length = 0;  // on the wire; of Ethernet with the frame check sequence
  uint32_t stripped = 0;      // octets that the agent took off, the frame check sequence among them
  std::span<const uint8_t> bytes;
};

constexpr void Read(ByteReader& in, SflowSampledHeader& h) {
  h.protocol = in.U32();
  h.frame_length = in.U32();
  h.stripped = in.U32();
  // The padding may be missing: whoever writes a record of odd length says its length by its block.
  h.bytes = in.Bytes(in.U32());
}
constexpr void Write(ByteWriter& out, const SflowSampledHeader& h) {
  out.U32(h.protocol);
  out.U32(h.frame_length);
  out.U32(h.stripped);
  out.U32(static_cast<uint32_t>(h.bytes.size()));
  out.Bytes(h.bytes);
  out.Zeros((4 - h.bytes.size() % 4) % 4);
}
static_assert(EncodedSize<SflowSampledHeader>() == SflowSampledHeader::kSize);

struct SflowSwitchRecord {
  static constexpr size_t kSize = 16;
  uint32_t source_vlan = 0;  // of the frame as it came; 0 for none
  uint32_t source_priority = 0;
  uint32_t destination_vlan = 0;  // of the frame as it left
  uint32_t destination_priority = 0;
};
constexpr void Read(ByteReader& in, SflowSwitchRecord& h) {
  const auto at = in.Take<SflowSwitchRecord::kSize>();
  h.source_vlan = at.U32<0>();
  h.source_priority = at.U32<4>();
  h.destination_vlan = at.U32<8>();
  h.destination_priority = at.U32<12>();
}
constexpr void Write(ByteWriter& out, const SflowSwitchRecord& h) {
  out.U32(h.source_vlan);
  out.U32(h.source_priority);
  out.U32(h.destination_vlan);
  out.U32(h.destination_priority);
}
static_assert(EncodedSize<SflowSwitchRecord>() == SflowSwitchRecord::kSize);

struct SflowRouterRecord {
  static constexpr size_t kSize = 16;  // with an IPv4 next hop
  IpAddress next_hop = IpAddress::FromV4(0);
  uint32_t source_prefix = 0;  // bits
  uint32_t destination_prefix = 0;
};
constexpr void Read(ByteReader& in, SflowRouterRecord& h) {
  Read(in, h.next_hop);
  h.source_prefix = in.U32();
  h.destination_prefix = in.U32();
}
constexpr void Write(ByteWriter& out, const SflowRouterRecord& h) {
  Write(out, h.next_hop);
  out.U32(h.source_prefix);
  out.U32(h.destination_prefix);
}
static_assert(EncodedSize<SflowRouterRecord>() == SflowRouterRecord::kSize);

// The three of one word: the egress queue's number, the nanoseconds that the packet spent in the
// switch (all ones: that or more), and the octets that were in the queue when it came.
struct SflowWordRecord {
  static constexpr size_t kSize = 4;
  uint32_t value = 0;
};
constexpr void Read(ByteReader& in, SflowWordRecord& h) { h.value = in.U32(); }
constexpr void Write(ByteWriter& out, const SflowWordRecord& h) { out.U32(h.value); }
static_assert(EncodedSize<SflowWordRecord>() == SflowWordRecord::kSize);

}  // namespace rocescope::wire
