// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/frame_bytes.h"

#include <algorithm>
#include <array>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::ns3_export {
namespace {

constexpr uint32_t kPppBytes = 2;
constexpr uint32_t kFcsBytes = 4;
constexpr size_t kMacBytes = 12;       // both MAC addresses
constexpr uint16_t kPppIpv6 = 0x0057;  // RFC 5072; IPv4 is 0x0021 (RFC 1332)

}  // namespace

uint32_t FrameLength(const ns3::Packet& packet, const LinkLayer& link) {
  return link.is_ppp ? packet.GetSize() + static_cast<uint32_t>(kMacBytes)
                     : packet.GetSize() - kFcsBytes;
}

size_t WriteFrame(const ns3::Packet& packet, const LinkLayer& link, bool sent,
                  std::span<uint8_t> room) {
  const std::span<uint8_t> frame =
      room.first(std::min<size_t>(room.size(), FrameLength(packet, link)));
  if (!link.is_ppp) {
    packet.CopyData(frame.data(), static_cast<uint32_t>(frame.size()));
    return frame.size();
  }
  // The PPP protocol is where the EtherType will be.
  std::array<uint8_t, wire::EthernetHeader::kSize> header{};
  packet.CopyData(header.data() + kMacBytes, kPppBytes);
  const bool ipv6 = (header[kMacBytes] << 8 | header[kMacBytes + 1]) == kPppIpv6;
  if (frame.size() > kMacBytes) {
    packet.CopyData(frame.data() + kMacBytes, static_cast<uint32_t>(frame.size() - kMacBytes));
  }
  wire::ByteWriter out(header);
  Write(out,
        wire::EthernetHeader{.destination = sent ? link.peer_mac : link.mac,
                             .source = sent ? link.mac : link.peer_mac,
                             .ether_type = ipv6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4});
  std::copy_n(header.begin(), std::min(header.size(), frame.size()), frame.begin());
  return frame.size();
}

std::optional<RoceHeaders> RoceHeadersOf(const ns3::Packet& packet, const LinkLayer& link) {
  constexpr size_t kHeaders = wire::EthernetHeader::kSize + wire::Ipv4Header::kSize +
                              wire::UdpHeader::kSize + wire::Bth::kSize + wire::Aeth::kSize;
  std::array<uint8_t, kHeaders> bytes{};
  if (WriteFrame(packet, link, true, bytes) < kHeaders) return std::nullopt;
  wire::ByteReader in(bytes);
  wire::EthernetHeader ethernet;
  wire::Ipv4Header ip;
  wire::UdpHeader udp;
  RoceHeaders headers;
  Read(in, ethernet);
  if (ethernet.ether_type != wire::kEtherTypeIpv4) return std::nullopt;
  Read(in, ip);
  if (ip.protocol != wire::kIpProtocolUdp || ip.header_words != 5 || ip.FragmentOffset() != 0) {
    return std::nullopt;
  }
  Read(in, udp);
  if (udp.destination_port != wire::kUdpPortRoce) return std::nullopt;
  Read(in, headers.bth);
  Read(in, headers.aeth);
  headers.ecn = ip.traffic_class & 3;
  headers.source = IpAddress::FromV4(ip.source);
  headers.destination = IpAddress::FromV4(ip.destination);
  return headers;
}

}  // namespace rocescope::ns3_export
