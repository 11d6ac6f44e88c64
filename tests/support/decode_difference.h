// SPDX-License-Identifier: BSD-3-Clause
// Compares two decoded frames.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/decode/erspan_mark.h"
#include "dataplane/decode/frame.h"

namespace rocescope::test {
namespace internal {

// Headers are equal if their encodings are equal.
template <typename Header>
bool Same(const Header& a, const Header& b) {
  std::array<uint8_t, Header::kSize> bytes_a{};
  std::array<uint8_t, Header::kSize> bytes_b{};
  wire::ByteWriter out_a(bytes_a);
  wire::ByteWriter out_b(bytes_b);
  Write(out_a, a);
  Write(out_b, b);
  return bytes_a == bytes_b;
}

// True if both are the same bytes of the same buffer.
inline bool SamePlace(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && (a.empty() || a.data() == b.data());
}

}  // namespace internal

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

// True if `mark` agrees with `mirror` for an ERSPAN III header, and is empty for any other.
inline bool SameMirror(const MirrorInfo& mirror, const ErspanMark& mark) {
  if (mark.who == 0) return mirror.kind != MirrorKind::kErspan3;
  const wire::ErspanPlatformSubheader platform{
      .platform_id = static_cast<uint8_t>(mark.where >> 26),
      .info = mark.where & 0x3ffffff,
      .word = mark.timestamp_upper};
  const bool has_platform = (mark.who >> ErspanMark::kFlagsShift & 1) != 0;
  const bool has_port = has_platform && platform.HasPort();
  const bool egress = (mark.who >> ErspanMark::kFlagsShift & 8) != 0;
  return mirror.kind == MirrorKind::kErspan3 && mirror.has_sequence && mirror.has_timestamp &&
         mirror.source == IpAddress::FromV4(static_cast<uint32_t>(mark.who >> 32)) &&
         mirror.session == (mark.who >> ErspanMark::kSessionShift & 0x3ff) &&
         (mirror.direction == MirrorDirection::kEgress) == egress &&
         static_cast<uint64_t>(mirror.granularity) ==
             (mark.who >> (ErspanMark::kFlagsShift + 1) & 3) &&
         mirror.sequence == mark.sequence && mirror.timestamp == mark.timestamp &&
         mirror.timestamp_upper == mark.timestamp_upper && mirror.has_port_index == has_port &&
         mirror.port_index == (has_port ? platform.Port() : 0) &&
         mirror.has_seconds == (has_platform && platform.HasSeconds()) &&
         mirror.has_upper_timestamp == (has_platform && platform.HasUpperTimestamp());
}

// Names the first accounting field that differs. Null if none does.
inline const char* PacketDifference(const RocePacket& a, const RocePacket& b) {
  if (a.source != b.source || a.destination != b.destination) return "addresses";
  if (a.destination_qpn != b.destination_qpn) return "QPN";
  if (a.segment != b.segment) return "segment";
  if (!internal::SamePlace({a.extended, a.extended_bytes}, {b.extended, b.extended_bytes})) {
    return "extended headers and payload";
  }
  if (a.psn != b.psn) return "PSN";
  if (a.wire_length != b.wire_length) return "wire length";
  if (a.payload_length != b.payload_length) return "payload length";
  if (a.udp_source_port != b.udp_source_port) return "UDP source port";
  if (a.mac_signature != b.mac_signature) return "signature of the MACs";
  if (a.opcode != b.opcode) return "opcode";
  if (a.traffic_class != b.traffic_class) return "traffic class";
  if (a.ttl != b.ttl) return "TTL";
  if (a.ack_request != b.ack_request) return "ACK request";
  return a.cut != b.cut ? "cut" : nullptr;
}

// Compares a decoded RoCE frame's headers with its accounting fields. Null if they agree.
inline const char* PacketContradiction(const DecodedFrame& frame) {
  if (frame.opcode != frame.bth.opcode || frame.psn != frame.bth.psn ||
      frame.destination_qpn != frame.bth.destination_qpn ||
      frame.ack_request != frame.bth.ack_request) {
    return "BTH";
  }
  if (frame.HasReth() != frame.Has(kPartReth) || frame.HasAeth() != frame.Has(kPartAeth)) {
    return "parts";
  }
  if (frame.HasReth() && !internal::Same(frame.GetReth(), frame.reth)) return "RETH";
  if (frame.HasAeth() && !internal::Same(frame.GetAeth(), frame.aeth)) return "AETH";
  return internal::SamePlace(frame.Payload(), frame.payload) ? nullptr : "payload";
}

}  // namespace rocescope::test
