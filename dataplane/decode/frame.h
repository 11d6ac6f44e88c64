// SPDX-License-Identifier: BSD-3-Clause
// The result of decoding a frame. The values are plain; the spans point into the caller's buffer
// and are valid as long as that buffer is.
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

// libpcap's LINKTYPE values of the link layers that the decoder supports.
enum class LinkType : uint16_t {
  kEthernet = 1,
  kRawIp = 101,
  kLinuxCooked = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kLinuxCooked2 = 276,
};

// A captured frame as a source delivers it.
struct RawFrame {
  std::span<const uint8_t> bytes;  // the captured bytes
  // Length on the wire in bytes as reported by the source, without FCS.
  uint32_t original_length = 0;
  LinkType link_type = LinkType::kEthernet;
  // Capture time; the source ensures kEarliestTime <= timestamp <= kLatestTime.
  Timestamp timestamp;
  uint16_t tap = 0;  // where the copy was taken: index into the caller's table of taps
  // Results of the core that received the frame, passed on with it (TapTable::Settle in
  // dataplane/pipeline): the tap that the mirror header identifies, and the offset from the capture
  // time to the time at which the copy was taken.
  uint16_t settled_tap = kUnresolved;
  int32_t event_offset_ns = 0;

  static constexpr uint16_t kUnresolved = UINT16_MAX;
};
static_assert(sizeof(RawFrame) == 40);  // thousands of them are in flight between two cores

enum class MirrorKind : uint8_t { kNone, kErspan1, kErspan2, kErspan3, kGre, kVxlan, kGeneve };

enum class MirrorDirection : uint8_t { kUnknown, kIngress, kEgress };

// The outermost mirror header of a copy that a switch encapsulated: the outermost ERSPAN header, or
// if there is none the outermost tunnel header, which may be the fabric's overlay.
struct MirrorInfo {
  MirrorKind kind = MirrorKind::kNone;
  MirrorDirection direction = MirrorDirection::kUnknown;
  bool truncated = false;     // the switch reports that it truncated the original frame
  bool has_sequence = false;  // `sequence` holds the GRE sequence number
  bool has_port_index = false;
  bool has_timestamp = false;
  bool has_seconds = false;  // the platform-specific subheader carries `seconds`
  // The platform-specific subheader carries the upper half of a 64-bit timestamp.
  bool has_upper_timestamp = false;
  wire::ErspanGranularity granularity = wire::ErspanGranularity::k100Microseconds;
  uint16_t session = 0;  // 10 bits
  // ERSPAN II index (20 bits) or port of the ERSPAN III platform-specific subheader.
  uint32_t port_index = 0;
  uint32_t sequence = 0;
  uint32_t timestamp = 0;        // ERSPAN III timestamp in units of its granularity
  uint32_t timestamp_upper = 0;  // seconds, or the upper half
  IpAddress source;              // source address of the outer packet: the switch
  IpAddress destination;
};

// The time in a mirror header, in nanoseconds of the switch's clock. It counts from the epoch if
// the header carries seconds or an upper half. Otherwise it is known modulo `wrap` only: 2^32
// units, or one second for IEEE 1588. At most kLatestTime.
struct MirrorTime {
  int64_t nanoseconds = 0;
  int64_t wrap = 0;  // 0: the time does not wrap
};
// Returns nullopt if there is no timestamp or its unit is user-defined.
std::optional<MirrorTime> TimeOf(const MirrorInfo& mirror);

// Returns the time congruent to `time` that is nearest to `arrival`: at most half a wrap away.
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

// Optional parts of a RoCE packet that are present and completely captured.
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

// The fields of a RoCE packet that accounting needs. They are few because one struct is written and
// read per packet. Extended headers stay in the frame until GetReth() and the like parse them.
struct RocePacket {
  IpAddress source;
  IpAddress destination;
  Qpn destination_qpn;
  Segment segment;
  // The bytes from the end of the BTH to the end of the payload, as far as they were captured.
  const uint8_t* extended;
  uint32_t extended_bytes;
  uint32_t psn;
  uint32_t wire_length;      // bytes of the original frame according to its headers, without FCS
  uint32_t payload_length;   // bytes according to the headers, without padding and iCRC
  uint16_t udp_source_port;  // must never be used to derive a QP
  uint16_t mac_signature;    // usually differs between copies forwarded by two routers
  uint8_t opcode;
  uint8_t traffic_class;  // DSCP << 2 | ECN
  uint8_t ttl;
  bool ack_request;
  bool cut;  // the capture ended before the packet's end

  uint8_t Dscp() const { return traffic_class >> 2; }
  uint8_t Ecn() const { return traffic_class & 3; }

  const wire::OpcodeTraits& Traits() const { return wire::TraitsOf(opcode); }
  // True if the packet has a RETH and it was captured completely.
  bool HasReth() const { return Holds(Traits().reth_at, wire::Reth::kSize); }
  bool HasAeth() const { return Holds(Traits().aeth_at, wire::Aeth::kSize); }
  // Requires HasReth().
  wire::Reth GetReth() const { return Get<wire::Reth>(Traits().reth_at); }
  wire::Aeth GetAeth() const { return Get<wire::Aeth>(Traits().aeth_at); }
  // The captured part of the payload.
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

// Folds the last four bytes of each MAC address, in memory order.
inline uint16_t FoldMacs(uint32_t source, uint32_t destination) {
  const uint32_t both = source + destination * 3;
  return static_cast<uint16_t>(both ^ both >> 16);
}

// A field is valid only for its kind, and an optional part only if its bit is set in `parts`. The
// decoder does not clear the fields that it does not write.
struct DecodedFrame : RocePacket {
  FrameKind kind;
  uint8_t ip_version;  // 4 or 6; 0 for a pause frame
  uint8_t vlan_count;  // number of VLAN tags on the original frame
  bool roce_v1;
  uint16_t parts;         // PartBit
  PartBit partial;        // the part at which the capture was cut, if partial_bytes > 0
  uint8_t partial_bytes;  // number of captured bytes of that part; fields after them are zero
  uint16_t vlan_id;       // outermost VLAN tag of the original frame; valid if vlan_count > 0
  MirrorInfo mirror;
  uint64_t source_mac;  // MAC addresses of the original frame
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
  std::span<const uint8_t> payload;  // the captured part

  wire::PauseFrame pause;

  // For the telemetry kinds: the captured part of the UDP payload.
  std::span<const uint8_t> telemetry;

  // Bytes that a switch inserted between the UDP header and the BTH: the INT-MD header and its
  // metadata stack (wire::IntMdHeader). Empty if there are none.
  std::span<const uint8_t> int_stack;

  // From the first byte of the IP header (GRH for RoCEv1) to the end of the iCRC, as input of
  // wire::ComputeIcrc. Empty if the frame was cut, or if it carries INT, which changes its headers.
  std::span<const uint8_t> network_packet;

  bool Has(PartBit part) const { return (parts & part) != 0; }

  // True if the first `bytes` bytes of the part were captured.
  bool HasUpTo(PartBit part, size_t bytes) const {
    return Has(part) || (partial_bytes >= bytes && partial == part);
  }
};

}  // namespace rocescope
