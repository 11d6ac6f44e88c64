// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/packet.h"

#include <algorithm>
#include <array>

#include "dataplane/wire/clear_to_send.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"
#include "dataplane/wire/tcp.h"

namespace rocescope::sim {
namespace {

constexpr size_t kCnpReservedBytes = 16;  // IBTA Annex A17.9.3
constexpr size_t kLongestMtu = 4096;      // IBTA vol. 1, 9.2: enum mtu
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kDefaultPartition = 0xffff;
constexpr size_t kLongestGrant = 512;  // bytes: NCCL's FIFO has eight elements of 64 bytes

size_t ExtensionBytes(const Frame& frame) {
  return frame.kind == FrameKind::kCnp ? kCnpReservedBytes
                                       : wire::TraitsOf(frame.opcode).header_bytes;
}
size_t PadBytes(const Frame& frame) { return (4 - frame.payload % 4) % 4; }

// Length from the BTH to the iCRC.
size_t TransportBytes(const Frame& frame) {
  return wire::Bth::kSize + ExtensionBytes(frame) + frame.payload + PadBytes(frame) +
         wire::kIcrcSize;
}

bool IsGrant(const Frame& frame) {
  return frame.granted_address != 0 && frame.payload <= kLongestGrant;
}

uint8_t TrafficClassOf(const Frame& frame) {
  const uint8_t ecn = frame.congestion_experienced ? wire::kEcnCe
                      : frame.ecn_capable          ? wire::kEcnEct0
                                                   : wire::kEcnNotEct;
  return static_cast<uint8_t>(DscpOf(frame.priority) << 2 | ecn);
}

void WriteExtension(wire::ByteWriter& out, const Frame& frame) {
  if (frame.kind == FrameKind::kCnp) {
    out.Zeros(kCnpReservedBytes);
    return;
  }
  const uint16_t headers = wire::InfoOf(frame.opcode).headers;
  if ((headers & wire::kHasReth) != 0) {
    Write(out, wire::Reth{.virtual_address = frame.address,
                          .rkey = frame.rkey,
                          .dma_length = frame.dma_length});
  }
  if ((headers & wire::kHasAeth) != 0) {
    Write(out, wire::Aeth{.syndrome = frame.syndrome, .msn = frame.message_sequence & k24BitMask});
  }
  if ((headers & wire::kHasImmDt) != 0) Write(out, wire::ImmDt{.data = frame.immediate});
}

// `room` holds the payload and the padding.
void WriteGrant(std::span<uint8_t> room, const Frame& frame) {
  wire::ByteWriter out(room);
  Write(out, wire::ClearToSend{.address = frame.granted_address,
                               .length = frame.immediate,
                               .rkey = frame.granted_rkey,
                               .index = static_cast<uint32_t>(frame.sequence + 1)});
  out.Zeros(room.size() - out.offset());
}

size_t LongestPayload(Network& network) {
  size_t longest = kLongestMtu;
  for (topology::NicIndex nic = 0; nic < network.fabric().nics().size(); ++nic) {
    longest = std::max<size_t>(longest, network.nic(nic).options().mtu);
  }
  return longest;
}

}  // namespace

PacketWriter::PacketWriter(Network& network)
    : network_(network), payload_(LongestPayload(network)) {}

const PacketWriter::Flow& PacketWriter::Learn(uint32_t queue_pair) {
  if (queue_pair >= flows_.size()) flows_.resize(network_.queue_pair_count());
  const QueuePair& sender = network_.queue_pair(queue_pair);
  const QueuePair& receiver = sender.peer();
  Flow& flow = flows_[queue_pair];
  flow.known = true;
  flow.from = sender.nic().number();
  flow.udp_source_port = sender.identity().udp_source_port;
  flow.destination_qpn = receiver.identity().qpn;
  flow.foreign = sender.identity().foreign;
  flow.destination_port = receiver.identity().udp_source_port;
  flow.source = AddressOf(network_.fabric(), flow.from);
  flow.destination = AddressOf(network_.fabric(), receiver.nic().number());
  flow.ipv4 = flow.source.IsV4() && flow.destination.IsV4();
  return flow;
}

uint32_t PacketWriter::LengthOf(const Frame& frame) {
  if (frame.kind == FrameKind::kForeign) return frame.length;
  const size_t network =
      FlowOf(frame.queue_pair).ipv4 ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize;
  return static_cast<uint32_t>(wire::EthernetHeader::kSize + network + wire::UdpHeader::kSize +
                               TransportBytes(frame));
}

void PacketWriter::WriteNetwork(wire::ByteWriter& out, const Frame& frame, const Flow& flow,
                                uint8_t protocol, uint16_t datagram, uint16_t identification) {
  Write(out, wire::EthernetHeader{
                 .destination = MacOfNic(frame.destination),
                 .source = MacOfNic(flow.from),
                 .ether_type = flow.ipv4 ? wire::kEtherTypeIpv4 : wire::kEtherTypeIpv6});
  if (flow.ipv4) {
    wire::Ipv4Header header{
        .traffic_class = TrafficClassOf(frame),
        .total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + datagram),
        .identification = identification,
        .fragment = kDontFragment,
        .ttl = frame.ttl,
        .protocol = protocol,
        .source = flow.source.V4(),
        .destination = flow.destination.V4()};
    header.checksum = wire::Ipv4Checksum(header);
    Write(out, header);
  } else {
    Write(out, wire::Ipv6Header{.traffic_class = TrafficClassOf(frame),
                                .payload_length = datagram,
                                .next_header = protocol,
                                .hop_limit = frame.ttl,
                                .source = flow.source,
                                .destination = flow.destination});
  }
}

// Writes the headers up to the payload.
size_t PacketWriter::WriteHeaders(const Frame& frame, const Flow& flow,
                                  std::span<uint8_t> room) const {
  wire::ByteWriter out(room);
  const auto datagram = static_cast<uint16_t>(wire::UdpHeader::kSize + TransportBytes(frame));
  const auto psn = static_cast<uint32_t>(frame.sequence) & k24BitMask;
  WriteNetwork(out, frame, flow, wire::kIpProtocolUdp, datagram, static_cast<uint16_t>(psn));
  Write(out, wire::UdpHeader{.source_port = flow.udp_source_port,
                             .destination_port = wire::kUdpPortRoce,
                             .length = datagram});
  Write(out, wire::Bth{.opcode = frame.opcode,
                       .migration_request = true,  // set on connected queue pairs ("migrated")
                       .pad_count = static_cast<uint8_t>(PadBytes(frame)),
                       .partition_key = kDefaultPartition,
                       .becn = frame.kind == FrameKind::kCnp,
                       .destination_qpn = flow.destination_qpn,
                       .ack_request = frame.ack_request,
                       .psn = psn});
  WriteExtension(out, frame);
  return out.offset();
}

// The frame's length decides: with IPv6, the payload is shorter than Frame::payload.
size_t PacketWriter::WriteForeign(const Frame& frame, const Flow& flow,
                                  std::span<uint8_t> room) const {
  const size_t network =
      wire::EthernetHeader::kSize + (flow.ipv4 ? wire::Ipv4Header::kSize : wire::Ipv6Header::kSize);
  const size_t front = network + wire::TcpHeader::kSize;
  const size_t data =
      frame.payload == 0 ? 0 : std::min<size_t>(frame.payload, frame.length - front);
  const auto segment = static_cast<uint16_t>(wire::TcpHeader::kSize + data);
  const std::span<const uint8_t> payload = payload_.Bytes(data);
  std::array<uint8_t, kMaxHeaders> bytes;
  constexpr uint16_t kWindow = 0xffff;
  const auto write = [&](uint16_t checksum) {
    wire::ByteWriter out(bytes);
    WriteNetwork(out, frame, flow, wire::kIpProtocolTcp, segment,
                 static_cast<uint16_t>(frame.sequence / std::max(frame.payload, 1u)));
    Write(out, wire::TcpHeader{.source_port = flow.udp_source_port,
                               .destination_port = flow.destination_port,
                               .sequence = static_cast<uint32_t>(frame.sequence),
                               .acknowledgement = static_cast<uint32_t>(frame.granted_address),
                               .flags = frame.opcode,
                               .window = kWindow,
                               .checksum = checksum});
  };
  write(0);
  // The pseudo-header: the addresses, which end the network header, the protocol and the length.
  const size_t addresses = flow.ipv4 ? 8 : 32;
  uint64_t sum = wire::kIpProtocolTcp + segment;
  sum = wire::AddWords(
      sum, std::span(bytes).subspan(network - addresses, addresses + wire::TcpHeader::kSize));
  const uint16_t checksum = wire::FoldedChecksum(wire::AddWords(sum, payload));
  write(frame.corrupt ? static_cast<uint16_t>(checksum ^ 1) : checksum);

  const size_t captured = std::min<size_t>(room.size(), frame.length);
  wire::ByteWriter out(room.first(captured));
  out.Bytes(std::span(bytes).first(std::min(front, captured)));
  out.Bytes(payload.first(std::min(data, captured - out.offset())));
  out.Zeros(captured - out.offset());  // padding of a short frame
  return captured;
}

size_t PacketWriter::WriteFrame(const Frame& frame, std::span<uint8_t> room) {
  const Flow& flow = FlowOf(frame.queue_pair);
  if (frame.kind == FrameKind::kForeign) return WriteForeign(frame, flow, room);
  std::array<uint8_t, kMaxHeaders + kLongestGrant + 4> front_bytes;
  size_t front_size = WriteHeaders(frame, flow, front_bytes);
  const size_t padded = frame.payload + PadBytes(frame);
  const size_t before_icrc = front_size + padded;
  // An explicit payload counts as part of the headers; no pattern follows it.
  size_t pattern = frame.payload;
  if (IsGrant(frame)) {
    WriteGrant(std::span(front_bytes).subspan(front_size, padded), frame);
    front_size += padded;
    pattern = 0;
  }
  const std::span<const uint8_t> front = std::span(front_bytes).first(front_size);

  const size_t captured = std::min(room.size(), before_icrc + wire::kIcrcSize);
  wire::ByteWriter out(room.first(captured));
  out.Bytes(front.first(std::min(front_size, captured)));
  out.Bytes(payload_.Bytes(std::min(pattern, captured - out.offset())));
  out.Zeros(std::min(before_icrc, captured) - out.offset());
  if (captured > before_icrc) {
    uint32_t icrc = wire::ComputeIcrc(front.subspan(wire::EthernetHeader::kSize));
    icrc = payload_.CrcBehind(icrc, pattern);
    if (frame.corrupt) icrc ^= 1u << (frame.sequence & 31);
    std::array<uint8_t, wire::kIcrcSize> bytes;
    wire::ByteWriter icrc_out(bytes);
    wire::WriteIcrc(icrc_out, icrc);
    out.Bytes(std::span(bytes).first(captured - before_icrc));
  }
  return captured;
}

}  // namespace rocescope::sim
