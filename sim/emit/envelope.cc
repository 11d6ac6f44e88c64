// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/envelope.h"

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"

namespace rocescope::sim {

void WriteEnvelope(wire::ByteWriter& out, const Envelope& envelope, uint8_t protocol,
                   uint16_t identification, size_t length) {
  constexpr uint8_t kTtl = 62;  // two hops after an initial TTL of 64
  const bool ipv4 = envelope.ipv4();
  Write(out,
        wire::EthernetHeader{.destination = envelope.destination_mac,
                             .source = envelope.source_mac,
                             .ether_type = ipv4 ? wire::kEtherTypeIpv4 : wire::kEtherTypeIpv6});
  if (!ipv4) {
    Write(out, wire::Ipv6Header{.payload_length = static_cast<uint16_t>(length),
                                .next_header = protocol,
                                .hop_limit = kTtl,
                                .source = envelope.source,
                                .destination = envelope.destination});
    return;
  }
  wire::Ipv4Header header{.total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + length),
                          .identification = identification,
                          .ttl = kTtl,
                          .protocol = protocol,
                          .source = envelope.source.V4(),
                          .destination = envelope.destination.V4()};
  header.checksum = wire::Ipv4Checksum(header);
  Write(out, header);
}

void WriteUdpEnvelope(wire::ByteWriter& out, const Envelope& envelope, uint16_t source_port,
                      uint16_t destination_port, uint16_t identification, size_t length) {
  const size_t datagram = wire::UdpHeader::kSize + length;
  WriteEnvelope(out, envelope, wire::kIpProtocolUdp, identification, datagram);
  Write(out, wire::UdpHeader{.source_port = source_port,
                             .destination_port = destination_port,
                             .length = static_cast<uint16_t>(datagram)});
}

}  // namespace rocescope::sim
