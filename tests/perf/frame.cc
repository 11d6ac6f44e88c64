// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/frame.h"

#include <algorithm>

#include "base/hash.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/writer.h"

namespace rocescope::perf {
namespace {

constexpr uint8_t kDataDscp = 26;
constexpr uint8_t kCnpDscp = 48;
constexpr size_t kCnpReserved = 16;  // bytes after a CNP's BTH (Annex A17.9.3)
constexpr uint32_t kAppliance = 0x0aff'00fe;
constexpr uint64_t kSwitchMac = 0x0200'00ff'0001;
constexpr uint64_t kApplianceMac = 0x0200'00ff'00fe;

size_t ExtensionSize(uint8_t opcode) {
  if (opcode == wire::kOpcodeCnp) return kCnpReserved;
  const uint16_t headers = wire::InfoOf(opcode).headers;
  return ((headers & wire::kHasReth) != 0 ? wire::Reth::kSize : 0) +
         ((headers & wire::kHasAeth) != 0 ? wire::Aeth::kSize : 0) +
         ((headers & wire::kHasImmDt) != 0 ? wire::ImmDt::kSize : 0);
}

uint8_t TrafficClassOf(const Packet& packet) {
  if (packet.bth.opcode == wire::kOpcodeCnp) return kCnpDscp << 2 | wire::kEcnNotEct;
  return static_cast<uint8_t>(kDataDscp << 2 |
                              (packet.congestion_experienced ? wire::kEcnCe : wire::kEcnEct0));
}

void WriteIpv4(wire::ByteWriter& out, wire::Ipv4Header header) {
  header.checksum = wire::Ipv4Checksum(header);
  Write(out, header);
}

// Ethernet, IP and UDP headers for `length` bytes.
void WriteOuter(wire::ByteWriter& out, const Packet& packet, size_t length) {
  const Endpoint& from = *packet.from;
  const Endpoint& to = *packet.to;
  const bool ipv4 = from.address.IsV4();
  const auto datagram = static_cast<uint16_t>(wire::UdpHeader::kSize + length);
  Write(out,
        wire::EthernetHeader{.destination = to.mac,
                             .source = from.mac,
                             .ether_type = ipv4 ? wire::kEtherTypeIpv4 : wire::kEtherTypeIpv6});
  if (ipv4) {
    WriteIpv4(out, {.traffic_class = TrafficClassOf(packet),
                    .total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + datagram),
                    .identification = static_cast<uint16_t>(packet.bth.psn),
                    .fragment = 0x4000,  // don't fragment
                    .ttl = from.ttl,
                    .protocol = wire::kIpProtocolUdp,
                    .source = from.address.V4(),
                    .destination = to.address.V4()});
  } else {
    Write(out, wire::Ipv6Header{.traffic_class = TrafficClassOf(packet),
                                .flow_label = from.udp_source_port,
                                .payload_length = datagram,
                                .next_header = wire::kIpProtocolUdp,
                                .hop_limit = from.ttl,
                                .source = from.address,
                                .destination = to.address});
  }
  Write(out, wire::UdpHeader{.source_port = from.udp_source_port,
                             .destination_port = wire::kUdpPortRoce,
                             .length = datagram});
}

// NCCL's clear-to-send is little-endian: address, then rkeys.
void WriteGrant(wire::ByteWriter& out, const Packet& packet) {
  for (int i = 0; i < 8; ++i) out.U8(static_cast<uint8_t>(packet.granted_address >> (8 * i)));
  for (int i = 0; i < 4; ++i) out.U8(static_cast<uint8_t>(packet.granted_rkey >> (8 * i)));
  out.Zeros(packet.payload_length - 12);
}

void WritePattern(wire::ByteWriter& out, const Packet& packet, size_t count) {
  uint64_t word = Mix64(uint64_t{packet.flow} << 24 | packet.bth.psn);
  for (; count >= 8; count -= 8, ++word) out.U64(word);
  for (; count > 0; --count) out.U8(static_cast<uint8_t>(count));
}

void WriteMirror(wire::ByteWriter& out, const Packet& packet, const MirrorLocation& place,
                 uint32_t sequence, size_t length) {
  const size_t inside = wire::GreHeader::kSize + 4 + wire::Erspan3Header::kSize +
                        wire::ErspanPlatformSubheader::kSize + length;
  const auto time = static_cast<uint64_t>(packet.time_ns);
  Write(out, wire::EthernetHeader{.destination = kApplianceMac,
                                  .source = kSwitchMac,
                                  .ether_type = wire::kEtherTypeIpv4});
  WriteIpv4(out, {.total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + inside),
                  .identification = static_cast<uint16_t>(sequence),
                  .ttl = 62,
                  .protocol = wire::kIpProtocolGre,
                  .source = place.switch_address,
                  .destination = kAppliance});
  Write(out, wire::GreHeader{
                 .has_sequence = true, .protocol = wire::kEtherTypeErspan3, .sequence = sequence});
  Write(out, wire::Erspan3Header{.session = place.session,
                                 .timestamp = static_cast<uint32_t>(time % 1'000'000'000),
                                 .egress = place.egress,
                                 .granularity = wire::ErspanGranularity::kIeee1588,
                                 .has_platform_subheader = true});
  Write(out, wire::ErspanPlatformSubheader{.platform_id = 5,
                                           .info = 1u << 16 | place.port,
                                           .word = static_cast<uint32_t>(time / 1'000'000'000)});
}

}  // namespace

Frame FrameBuilder::Build(const Packet& packet) {
  const uint8_t opcode = packet.bth.opcode;
  const size_t transport = wire::Bth::kSize + ExtensionSize(opcode) + packet.payload_length +
                           packet.bth.pad_count + wire::kIcrcSize;
  const size_t network =
      packet.from->address.IsV4() ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize;
  const size_t original =
      wire::EthernetHeader::kSize + network + wire::UdpHeader::kSize + transport;

  wire::ByteWriter out(buffer_);
  if (erspan_) WriteMirror(out, packet, place_, sequence_++, original);
  const size_t mirror = out.offset();
  WriteOuter(out, packet, transport);
  Write(out, packet.bth);
  if (opcode == wire::kOpcodeCnp) {
    out.Zeros(kCnpReserved);
  } else {
    const uint16_t headers = wire::InfoOf(opcode).headers;
    if ((headers & wire::kHasReth) != 0) Write(out, packet.reth);
    if ((headers & wire::kHasAeth) != 0) Write(out, packet.aeth);
    if ((headers & wire::kHasImmDt) != 0) Write(out, packet.immediate);
  }
  // Only the captured part of the payload is written.
  const size_t room = snap_ > out.offset() ? snap_ - out.offset() : 0;
  if (packet.granted_address != 0) {
    WriteGrant(out, packet);
  } else {
    WritePattern(out, packet, std::min<size_t>(packet.payload_length, room));
  }
  const size_t length = mirror + original;
  if (out.offset() < length) out.Zeros(std::min<size_t>(length - out.offset(), 8));
  return {.bytes = std::span<const uint8_t>(buffer_).first(std::min<size_t>(snap_, length)),
          .length = static_cast<uint32_t>(length),
          .original_length = static_cast<uint32_t>(original)};
}

}  // namespace rocescope::perf
