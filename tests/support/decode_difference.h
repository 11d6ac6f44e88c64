// SPDX-License-Identifier: BSD-3-Clause
// In what two decoded frames differ, of all that means something for their kind.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "dataplane/decode/frame.h"

namespace rocescope::test {
namespace internal {

// Headers are equal if they are written the same.
template <typename Header>
bool Same(const Header& a, const Header& b) {
  std::array<uint8_t, Header::kSize> octets_a{};
  std::array<uint8_t, Header::kSize> octets_b{};
  wire::ByteWriter out_a(octets_a);
  wire::ByteWriter out_b(octets_b);
  Write(out_a, a);
  Write(out_b, b);
  return octets_a == octets_b;
}

// The same octets of the same buffer.
inline bool SamePlace(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && (a.empty() || a.data() == b.data());
}

inline bool SameMirror(const MirrorInfo& a, const MirrorInfo& b) {
  if (a.kind != b.kind) return false;
  return a.kind == MirrorKind::kNone ||
         (a.direction == b.direction && a.truncated == b.truncated &&
          a.has_sequence == b.has_sequence && a.sequence == b.sequence && a.session == b.session &&
          a.has_port_index == b.has_port_index && a.port_index == b.port_index &&
          a.has_timestamp == b.has_timestamp && a.timestamp == b.timestamp &&
          a.granularity == b.granularity && a.has_seconds == b.has_seconds &&
          a.has_upper_timestamp == b.has_upper_timestamp &&
          a.timestamp_upper == b.timestamp_upper && a.source == b.source &&
          a.destination == b.destination);
}

inline bool SameCm(const wire::CmMessage& a, const wire::CmMessage& b) {
  return a.attribute == b.attribute && a.transaction_id == b.transaction_id &&
         a.local_comm_id == b.local_comm_id && a.remote_comm_id == b.remote_comm_id &&
         a.local_qpn == b.local_qpn && a.remote_qpn == b.remote_qpn &&
         a.starting_psn == b.starting_psn && a.service_id == b.service_id && a.reason == b.reason &&
         a.transport_service == b.transport_service && a.path_mtu == b.path_mtu;
}

// The part whose header differs; null if none does.
inline const char* PartDifference(const DecodedFrame& a, const DecodedFrame& b) {
  // Of a part that the capture cut, the fields count too.
  const auto differs = [&a](PartBit part, const auto& in_a, const auto& in_b) {
    return a.HasUpTo(part, 1) && !Same(in_a, in_b);
  };
  if (differs(kPartReth, a.reth, b.reth)) return "RETH";
  if (differs(kPartAeth, a.aeth, b.aeth)) return "AETH";
  if (differs(kPartDeth, a.deth, b.deth)) return "DETH";
  if (differs(kPartImmDt, a.immediate, b.immediate)) return "ImmDt";
  if (differs(kPartIeth, a.ieth, b.ieth)) return "IETH";
  if (differs(kPartAtomicEth, a.atomic, b.atomic)) return "AtomicETH";
  if (differs(kPartAtomicAckEth, a.atomic_ack, b.atomic_ack)) return "AtomicAckETH";
  if (differs(kPartXrceth, a.xrceth, b.xrceth)) return "XRCETH";
  if (differs(kPartRdeth, a.rdeth, b.rdeth)) return "RDETH";
  return a.Has(kPartCm) && !SameCm(a.cm, b.cm) ? "CM message" : nullptr;
}

}  // namespace internal

// The first field that differs; null if none does. Both frames decoded.
inline const char* DecodeDifference(const DecodedFrame& a, const DecodedFrame& b) {
  if (a.kind != b.kind) return "kind";
  if (a.cut != b.cut) return "cut";
  if (a.ip_version != b.ip_version) return "IP version";
  if (a.vlan_count != b.vlan_count) return "number of tags";
  if (a.vlan_count > 0 && a.vlan_id != b.vlan_id) return "VLAN";
  if (a.wire_length != b.wire_length) return "wire length";
  if (a.segment != b.segment) return "segment";
  if (a.source_mac != b.source_mac || a.destination_mac != b.destination_mac) return "MACs";
  if (!internal::SameMirror(a.mirror, b.mirror)) return "mirror";
  if (a.kind == FrameKind::kPause) {
    return internal::Same(a.pause, b.pause) ? nullptr : "pause";
  }
  if (a.source != b.source || a.destination != b.destination) return "addresses";
  if (a.traffic_class != b.traffic_class) return "traffic class";
  if (a.ttl != b.ttl) return "TTL";
  if (a.roce_v1 != b.roce_v1) return "version of RoCE";
  if (a.udp_source_port != b.udp_source_port) return "UDP source port";
  if (!internal::Same(a.bth, b.bth)) return "BTH";
  if (a.parts != b.parts) return "parts";
  if (a.partial_octets != b.partial_octets) return "octets of the cut part";
  if (a.partial_octets > 0 && a.partial != b.partial) return "cut part";
  if (const char* part = internal::PartDifference(a, b)) return part;
  if (a.payload_length != b.payload_length) return "payload length";
  if (!internal::SamePlace(a.payload, b.payload)) return "payload";
  return internal::SamePlace(a.network_packet, b.network_packet) ? nullptr : "network packet";
}

}  // namespace rocescope::test
