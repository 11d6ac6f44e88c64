// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/packet.h"

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/writer.h"
#include "sim/emit/addressing.h"

namespace rocescope::endpoint {
namespace {

constexpr size_t kCnpReservedBytes = 16;  // IBTA Annex A17.9.3
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kReservedFragmentBit = 0x8000;
constexpr uint16_t kDefaultPartition = 0xffff;
constexpr uint8_t kHopLimit = 64;
constexpr uint32_t kDataPriority = 3;
constexpr uint32_t kCnpPriority = 6;

// As in the simulator: only requests are ECN-capable, and CNPs have their own priority.
uint8_t TrafficClassOf(uint8_t opcode) {
  if (opcode == wire::kOpcodeCnp) return static_cast<uint8_t>(sim::DscpOf(kCnpPriority) << 2);
  const bool request = !wire::TraitsOf(opcode).Is(wire::kOpcodeResponse);
  return static_cast<uint8_t>(sim::DscpOf(kDataPriority) << 2 |
                              (request ? wire::kEcnEct0 : wire::kEcnNotEct));
}

size_t ExtensionBytes(uint8_t opcode) {
  return opcode == wire::kOpcodeCnp ? kCnpReservedBytes : wire::TraitsOf(opcode).header_bytes;
}

void WriteExtension(wire::ByteWriter& out, const Packet& packet) {
  if (packet.opcode == wire::kOpcodeCnp) {
    out.Zeros(kCnpReservedBytes);
    return;
  }
  const uint16_t headers = wire::InfoOf(packet.opcode).headers;
  if ((headers & wire::kHasReth) != 0) Write(out, packet.reth);
  if ((headers & wire::kHasAeth) != 0) Write(out, packet.aeth);
  if ((headers & wire::kHasImmDt) != 0) Write(out, wire::ImmDt{.data = packet.immediate});
}

void ReadExtension(wire::ByteReader& in, Packet& packet) {
  if (packet.opcode == wire::kOpcodeCnp) {
    in.Skip(kCnpReservedBytes);
    return;
  }
  const uint16_t headers = wire::InfoOf(packet.opcode).headers;
  if ((headers & wire::kHasReth) != 0) Read(in, packet.reth);
  if ((headers & wire::kHasAeth) != 0) Read(in, packet.aeth);
  if ((headers & wire::kHasImmDt) != 0) {
    wire::ImmDt immediate;
    Read(in, immediate);
    packet.immediate = immediate.data;
  }
}

// Headers with other bits in `headers` never occur between endpoints.
bool IsSupported(uint8_t opcode) {
  constexpr uint16_t kKnown = wire::kHasReth | wire::kHasAeth | wire::kHasImmDt;
  return wire::TraitsOf(opcode).Is(wire::kOpcodeDefined) &&
         (wire::InfoOf(opcode).headers & ~kKnown) == 0;
}

}  // namespace

size_t WriteFrame(const Packet& packet, const Route& route, std::span<uint8_t> room) {
  wire::ByteWriter out(room);
  const size_t pad = (4 - packet.payload.size() % 4) % 4;
  const auto datagram = static_cast<uint16_t>(wire::UdpHeader::kSize + wire::Bth::kSize +
                                              ExtensionBytes(packet.opcode) +
                                              packet.payload.size() + pad + wire::kIcrcSize);
  Write(out, wire::EthernetHeader{.destination = MacOf(route.destination),
                                  .source = MacOf(route.source),
                                  .ether_type = wire::kEtherTypeIpv4});
  wire::Ipv4Header ip{.traffic_class = TrafficClassOf(packet.opcode),
                      .total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + datagram),
                      .identification = static_cast<uint16_t>(packet.psn),
                      .fragment = kDontFragment,
                      .ttl = kHopLimit,
                      .protocol = wire::kIpProtocolUdp,
                      .source = route.source,
                      .destination = route.destination};
  ip.checksum = wire::Ipv4Checksum(ip);
  Write(out, ip);
  Write(out, wire::UdpHeader{.source_port = route.udp_source_port,
                             .destination_port = wire::kUdpPortRoce,
                             .length = datagram});
  Write(out, wire::Bth{.opcode = packet.opcode,
                       .migration_request = true,
                       .pad_count = static_cast<uint8_t>(pad),
                       .partition_key = kDefaultPartition,
                       .becn = packet.opcode == wire::kOpcodeCnp,
                       .destination_qpn = packet.destination,
                       .ack_request = packet.ack_request,
                       .psn = packet.psn});
  WriteExtension(out, packet);
  out.Bytes(packet.payload);
  out.Zeros(pad);
  wire::WriteIcrc(out, wire::ComputeIcrc(room.subspan(wire::EthernetHeader::kSize,
                                                      out.offset() - wire::EthernetHeader::kSize)));
  return out.offset();
}

Reception ReadFrame(std::span<const uint8_t> frame, uint32_t own, ReceivedPacket& out) {
  wire::ByteReader in(frame);
  wire::EthernetHeader ethernet;
  Read(in, ethernet);
  if (!in.ok() || ethernet.ether_type != wire::kEtherTypeIpv4) return Reception::kForeign;
  const std::span<const uint8_t> datagram = in.Rest();
  wire::Ipv4Header ip;
  Read(in, ip);
  const size_t header_bytes = size_t{4} * ip.header_words;
  if (!in.ok() || ip.version != 4 || ip.protocol != wire::kIpProtocolUdp || ip.destination != own ||
      (ip.fragment & ~(kDontFragment | kReservedFragmentBit)) != 0 ||
      header_bytes < wire::Ipv4Header::kSize) {
    return Reception::kForeign;
  }
  in.Skip(header_bytes - wire::Ipv4Header::kSize);  // options
  wire::UdpHeader udp;
  Read(in, udp);
  if (!in.ok() || udp.destination_port != wire::kUdpPortRoce) return Reception::kForeign;
  // Short frames have Ethernet padding behind the IP packet.
  const size_t front = header_bytes + wire::UdpHeader::kSize + wire::Bth::kSize;
  if (ip.total_length > datagram.size() || ip.total_length < front + wire::kIcrcSize ||
      udp.length + header_bytes != ip.total_length) {
    return Reception::kMalformed;
  }
  const auto covered = datagram.first(ip.total_length - wire::kIcrcSize);
  if (wire::ComputeIcrc(covered) !=
      wire::ReadIcrc(datagram.subspan(covered.size(), wire::kIcrcSize))) {
    return Reception::kBadIcrc;
  }
  wire::ByteReader transport(covered.subspan(header_bytes + wire::UdpHeader::kSize));
  wire::Bth bth;
  Read(transport, bth);
  if (bth.transport_version != 0 || !IsSupported(bth.opcode)) return Reception::kMalformed;
  out = {.packet = {.opcode = bth.opcode,
                    .destination = bth.destination_qpn,
                    .psn = bth.psn,
                    .ack_request = bth.ack_request,
                    .congestion_experienced = (ip.traffic_class & 3) == wire::kEcnCe},
         .source = ip.source};
  ReadExtension(transport, out.packet);
  if (!transport.ok() || transport.remaining() < bth.pad_count) return Reception::kMalformed;
  out.packet.payload = transport.Rest().first(transport.remaining() - bth.pad_count);
  return Reception::kAccepted;
}

}  // namespace rocescope::endpoint
