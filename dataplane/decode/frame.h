// SPDX-License-Identifier: BSD-3-Clause
// What one walk through a frame's headers finds. Plain values; the spans point into the caller's
// buffer and live as long as it does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/address.h"
#include "base/qpn.h"
#include "base/segment.h"
#include "base/time.h"
#include "dataplane/wire/mad.h"
#include "dataplane/wire/mirror.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/pause.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/roce.h"

namespace rocescope {

// libpcap's LINKTYPE values of the link layers that the decoder can walk.
enum class LinkType : uint16_t {
  kEthernet = 1,
  kRawIp = 101,
  kLinuxCooked = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kLinuxCooked2 = 276,
};

// A frame as a source hands it over.
struct RawFrame {
  std::span<const uint8_t> bytes;  // what was captured
  uint32_t original_length = 0;    // octets on the wire as the source says, without FCS
  LinkType link_type = LinkType::kEthernet;
  Timestamp timestamp;  // capture time; its source sees to kEarliestTime <= it <= kLatestTime
  uint16_t tap = 0;     // where the copy was taken: index into the caller's table of taps
  // What another core found out when it received the frame, and handed over with it (lcore's
  // TapTable::Settle): the tap that a mirror header makes, and how far from the capture time lies
  // the one at which the copy was taken.
  uint16_t settled_tap = kUnresolved;
  int32_t event_offset_ns = 0;

  static constexpr uint16_t kUnresolved = UINT16_MAX;
};
static_assert(sizeof(RawFrame) == 40);  // thousands of them are on the way between two cores

enum class MirrorKind : uint8_t { kNone, kErspan1, kErspan2, kErspan3, kGre, kVxlan, kGeneve };

enum class MirrorDirection : uint8_t { kUnknown, kIngress, kEgress };

// The outermost mirror header, when the frame is a copy that a switch wrapped up and sent: the
// outermost ERSPAN, or without one the outermost tunnel, which may be the fabric's overlay.
struct MirrorInfo {
  MirrorKind kind = MirrorKind::kNone;
  MirrorDirection direction = MirrorDirection::kUnknown;
  bool truncated = false;     // the switch says that it cut the original frame
  bool has_sequence = false;  // GRE sequence number, in `sequence`
  bool has_port_index = false;
  bool has_timestamp = false;
  bool has_seconds = false;          // the platform sub-header carries `seconds`
  bool has_upper_timestamp = false;  // it carries the upper half of a 64-bit timestamp
  wire::ErspanGranularity granularity = wire::ErspanGranularity::k100Microseconds;
  uint16_t session = 0;     // 10 bits
  uint32_t port_index = 0;  // type II index (20 bits) or type III platform port
  uint32_t sequence = 0;
  uint32_t timestamp = 0;        // ERSPAN III, in units of its granularity
  uint32_t timestamp_upper = 0;  // seconds, or the upper half
  IpAddress source;              // of the outer packet: the switch
  IpAddress destination;
};

// The time that a mirror header tells, in nanoseconds of the switch's clock: since the epoch where
// it carries seconds or an upper half; else only modulo `wrap`: 2^32 units, or the second of
// IEEE 1588. At most kLatestTime.
struct MirrorTime {
  int64_t nanoseconds = 0;
  int64_t wrap = 0;  // 0: does not wrap
};
// nullopt: no timestamp, or a user-defined unit.
std::optional<MirrorTime> TimeOf(const MirrorInfo& mirror);

// The value congruent to `time` that lies nearest to `arrival`: at most half a wrap from it.
Timestamp Unwrap(const MirrorTime& time, Timestamp arrival);

enum class FrameKind : uint8_t {
  kRoce,
  kPause,
  kIntReport,  // a datagram of INT reports
  kSflow,
};
constexpr bool IsTelemetry(FrameKind kind) {
  return kind == FrameKind::kIntReport || kind == FrameKind::kSflow;
}

// Optional parts of a RoCE packet that were there and captured whole.
enum PartBit : uint16_t {
  kPartReth = 1 << 0,
  kPartAeth = 1 << 1,
  kPartDeth = 1 << 2,
  kPartImmDt = 1 << 3,
  kPartIeth = 1 << 4,
  kPartAtomicEth = 1 << 5,
  kPartAtomicAckEth = 1 << 6,
  kPartXrceth = 1 << 7,
  kPartRdeth = 1 << 8,
  kPartCm = 1 << 9,
};

// What accounting needs of a RoCE packet, and no more: one is written and
// read for each. Extended headers stay where they are until somebody asks for them.
struct RocePacket {
  IpAddress source;
  IpAddress destination;
  Qpn destination_qpn;
  Segment segment;
  // The octets behind the BTH up to the payload's end, as far as they were captured.
  const uint8_t* extended;
  uint32_t extended_bytes;
  uint32_t psn;
  uint32_t wire_length;      // octets of the original frame from its headers, without FCS
  uint32_t payload_length;   // octets from the headers, without padding and iCRC
  uint16_t udp_source_port;  // never used to derive a QP
  uint16_t mac_signature;    // differs between the copies that two routers forward, mostly
  uint8_t opcode;
  uint8_t traffic_class;  // DSCP << 2 | ECN
  uint8_t ttl;
  bool ack_request;
  bool cut;  // the capture ended before the packet did

  uint8_t Dscp() const { return traffic_class >> 2; }
  uint8_t Ecn() const { return traffic_class & 3; }

  const wire::OpcodeTraits& Traits() const { return wire::TraitsOf(opcode); }
  // Whether the packet has one and all of it was captured.
  bool HasReth() const { return Holds(Traits().reth_at, wire::Reth::kSize); }
  bool HasAeth() const { return Holds(Traits().aeth_at, wire::Aeth::kSize); }
  // Only where they are.
  wire::Reth GetReth() const { return Get<wire::Reth>(Traits().reth_at); }
  wire::Aeth GetAeth() const { return Get<wire::Aeth>(Traits().aeth_at); }
  // What was captured of it.
  std::span<const uint8_t> Payload() const {
    const size_t headers = std::min<size_t>(Traits().header_bytes, extended_bytes);
    return {extended + headers, extended_bytes - headers};
  }

 private:
  bool Holds(size_t at, size_t size) const {
    return at != wire::OpcodeTraits::kNowhere && at + size <= extended_bytes;
  }
  template <typename Header>
  Header Get(size_t at) const {
    wire::ByteReader in({extended + at, Header::kSize});
    Header header;
    Read(in, header);
    return header;
  }
};

// Of the last four octets of each MAC, in memory order.
inline uint16_t FoldMacs(uint32_t source, uint32_t destination) {
  const uint32_t both = source + destination * 3;
  return static_cast<uint16_t>(both ^ both >> 16);
}

// Fields are meaningful for their kind, and optional parts only where `parts` has their bit: the
// decoder does not clear what it does not write.
struct DecodedFrame : RocePacket {
  FrameKind kind;
  uint8_t ip_version;  // 4, 6; 0 for a pause frame
  uint8_t vlan_count;  // tags on the original frame
  bool roce_v1;
  uint16_t parts;          // PartBit
  PartBit partial;         // the part that the capture cut, if partial_bytes > 0
  uint8_t partial_bytes;  // of it that were captured; its fields behind them are zero
  uint16_t vlan_id;        // outermost tag of the original frame; meaningful if vlan_count > 0
  MirrorInfo mirror;
  uint64_t source_mac;  // of the original frame
  uint64_t destination_mac;

  wire::Bth bth;
  wire::Reth reth;
  wire::Aeth aeth;
  wire::Deth deth;
  wire::ImmDt immediate;
  wire::Ieth ieth;
  wire::AtomicEth atomic;
  wire::AtomicAckEth atomic_ack;
  wire::Xrceth xrceth;
  wire::Rdeth rdeth;
  wire::CmMessage cm;
  std::span<const uint8_t> payload;  // what was captured of it

  wire::PauseFrame pause;

  std::span<const uint8_t> telemetry;  // of those two kinds: what was captured of UDP's payload

  // What stood between the UDP header and the BTH, if a switch put it there: INT's metadata header
  // and the stack behind it (wire::IntMdHeader). Empty if not.
  std::span<const uint8_t> int_stack;

  // From the first octet of the IP header (GRH for RoCEv1) to the end of the iCRC; empty if the
  // frame was cut or carries INT, which changed its headers. For wire::ComputeIcrc.
  std::span<const uint8_t> network_packet;

  bool Has(PartBit part) const { return (parts & part) != 0; }

  // Whether the part's first `octets` octets were captured.
  bool HasUpTo(PartBit part, size_t bytes) const {
    return Has(part) || (partial_bytes >= bytes && partial == part);
  }
};

}  // namespace rocescope
