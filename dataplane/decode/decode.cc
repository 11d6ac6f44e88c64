// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/decode/decode.h"

#include <algorithm>

#include "dataplane/decode/limits.h"
#include "dataplane/decode/mirror_note.h"
#include "dataplane/decode/transport.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/int_metadata.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"

namespace rocescope {
namespace {

using wire::ByteReader;

// State of decoding. `in` holds the captured part of the innermost packet, at most up to the
// packet's own length. `cut` is true if the capture ended before the packet did.
struct Walk {
  ByteReader in;
  DecodedFrame& frame;
  const TelemetryPorts& ports;
  bool cut = false;
  bool fragmented = false;  // the first fragment: the UDP length includes the other fragments
  size_t missing = 0;       // bytes of the packet after the end of `in`, according to its length
  int tunnels = 0;
  uint32_t link_length = 0;  // bytes before the innermost IP header

  // Limits the input to the packet's length from its own header. Removes padding and detects
  // truncation.
  void Limit(size_t length) {
    const std::span<const uint8_t> rest = in.Rest();
    if (rest.size() >= length) {
      in = ByteReader(rest.first(length));
      missing = 0;
    } else {
      in = ByteReader(rest);
      missing = length - rest.size();
      cut = true;
    }
  }
};

DropReason WalkEthernet(Walk& walk);
DropReason WalkEtherType(Walk& walk, uint16_t ether_type);

DropReason EnterTunnel(Walk& walk) {
  if (++walk.tunnels > kMaximumTunnels) return DropReason::kNestedTooDeep;
  walk.in = ByteReader(walk.in.Rest());
  walk.link_length = 0;
  // The outer link layer does not belong to the original frame, which may have none.
  walk.frame.source_mac = 0;
  walk.frame.destination_mac = 0;
  walk.frame.vlan_count = 0;
  walk.cut = false;  // the inner packet's own length determines whether it was cut
  walk.fragmented = false;
  return DropReason::kNone;
}

bool IsErspan(MirrorKind kind) {
  return kind == MirrorKind::kErspan1 || kind == MirrorKind::kErspan2 ||
         kind == MirrorKind::kErspan3;
}

// Returns where to store a mirror header, or null if the header belongs to the original frame. The
// outermost encapsulation counts as the mirror. ERSPAN always does, because encapsulations around
// it transported the copy to the collector.
MirrorInfo* NoteMirror(Walk& walk, MirrorKind kind) {
  MirrorInfo& mirror = walk.frame.mirror;
  if (IsErspan(kind)) {
    walk.frame.segment = 0;
    if (IsErspan(mirror.kind)) return nullptr;
  } else if (walk.tunnels > 0) {
    return nullptr;
  }
  mirror = {};
  mirror.kind = kind;
  mirror.source = walk.frame.source;
  mirror.destination = walk.frame.destination;
  return &mirror;
}

DropReason WalkErspan2(Walk& walk, const wire::GreHeader& gre) {
  // Types I and II share a protocol number; only type II has a sequence number.
  MirrorInfo* mirror =
      NoteMirror(walk, gre.has_sequence ? MirrorKind::kErspan2 : MirrorKind::kErspan1);
  if (gre.has_sequence) {
    wire::Erspan2Header header;
    Read(walk.in, header);
    if (!walk.in.ok()) return DropReason::kTruncatedMirror;
    if (header.version != 1) return DropReason::kBadMirror;
    if (mirror != nullptr) NoteErspan2(gre, header, *mirror);
  }
  const DropReason deeper = EnterTunnel(walk);
  return deeper != DropReason::kNone ? deeper : WalkEthernet(walk);
}

DropReason WalkErspan3(Walk& walk, const wire::GreHeader& gre) {
  wire::Erspan3Header header;
  Read(walk.in, header);
  wire::ErspanPlatformSubheader platform;
  if (header.has_platform_subheader) Read(walk.in, platform);
  if (!walk.in.ok()) return DropReason::kTruncatedMirror;
  if (header.version != 2) return DropReason::kBadMirror;
  if (MirrorInfo* mirror = NoteMirror(walk, MirrorKind::kErspan3)) {
    NoteErspan3(gre, header, platform, *mirror);
  }
  const DropReason deeper = EnterTunnel(walk);
  if (deeper != DropReason::kNone) return deeper;
  constexpr uint8_t kFrameTypeIp = 2;
  if (header.frame_type != kFrameTypeIp) return WalkEthernet(walk);
  const std::span<const uint8_t> rest = walk.in.Rest();
  if (rest.empty()) return DropReason::kTruncatedIp;
  return WalkEtherType(walk, rest[0] >> 4 == 6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4);
}

DropReason WalkGre(Walk& walk) {
  wire::GreHeader gre;
  Read(walk.in, gre);
  if (!walk.in.ok()) return DropReason::kTruncatedMirror;
  if (gre.version != 0) return DropReason::kNotRoce;  // PPTP
  if (gre.has_routing) return DropReason::kBadMirror;
  if (gre.protocol == wire::kEtherTypeErspan2) return WalkErspan2(walk, gre);
  if (gre.protocol == wire::kEtherTypeErspan3) return WalkErspan3(walk, gre);
  if (MirrorInfo* mirror = NoteMirror(walk, MirrorKind::kGre)) {
    mirror->has_sequence = gre.has_sequence;
    mirror->sequence = gre.sequence;
  }
  const DropReason deeper = EnterTunnel(walk);
  if (deeper != DropReason::kNone) return deeper;
  if (gre.protocol == wire::kEtherTypeTransparentBridging) return WalkEthernet(walk);
  return WalkEtherType(walk, gre.protocol);
}

DropReason WalkVxlan(Walk& walk) {
  wire::VxlanHeader header;
  Read(walk.in, header);
  if (!walk.in.ok()) return DropReason::kTruncatedMirror;
  if (!header.has_network_id) return DropReason::kBadMirror;
  NoteMirror(walk, MirrorKind::kVxlan);
  walk.frame.segment = header.network_id + 1;
  const DropReason deeper = EnterTunnel(walk);
  return deeper != DropReason::kNone ? deeper : WalkEthernet(walk);
}

DropReason WalkGeneve(Walk& walk) {
  wire::GeneveHeader header;
  Read(walk.in, header);
  walk.in.Skip(size_t{header.option_words} * 4);
  if (!walk.in.ok()) return DropReason::kTruncatedMirror;
  if (header.version != 0) return DropReason::kBadMirror;
  NoteMirror(walk, MirrorKind::kGeneve);
  walk.frame.segment = header.network_id + 1;
  const DropReason deeper = EnterTunnel(walk);
  if (deeper != DropReason::kNone) return deeper;
  if (header.protocol == wire::kEtherTypeTransparentBridging) return WalkEthernet(walk);
  return WalkEtherType(walk, header.protocol);
}

// Telemetry inside a tunnel is not addressed to this collector.
DropReason TakeTelemetry(Walk& walk, FrameKind kind, const wire::UdpHeader& udp, size_t data) {
  if (walk.tunnels > 0) return DropReason::kNotRoce;
  walk.Limit(data);
  DecodedFrame& frame = walk.frame;
  frame.kind = kind;
  frame.roce_v1 = false;
  frame.udp_source_port = udp.source_port;
  frame.cut = walk.cut;
  frame.parts = 0;
  frame.network_packet = {};
  frame.telemetry = walk.in.Rest();
  return DropReason::kNone;
}

// Decodes INT-MD over UDP: a shim, INT headers, then either RoCE or, if INT added its own UDP
// header, the UDP header of RoCE. `data` is the number of bytes after the outer UDP header.
DropReason WalkInt(Walk& walk, const wire::UdpHeader& outer, size_t data) {
  walk.Limit(data);
  const auto ends = [&walk](DropReason wrong) {
    return walk.cut ? DropReason::kTruncatedTelemetry : wrong;
  };
  wire::IntShim shim;
  Read(walk.in, shim);
  const std::span<const uint8_t> stack = walk.in.Bytes(size_t{shim.length_words} * 4);
  if (!walk.in.ok()) return ends(DropReason::kBadInt);
  const bool is_md = shim.type == wire::kIntTypeMd;
  if (is_md && stack.size() < wire::IntMdHeader::kSize) return DropReason::kBadInt;
  // The lengths of other versions are counted differently, so that RoCE begins elsewhere.
  constexpr uint8_t kVersion = 2;
  if (is_md && stack[0] >> 4 != kVersion) return DropReason::kBadInt;
  wire::UdpHeader udp = outer;
  size_t left = data - wire::IntShim::kSize - stack.size();
  if (shim.next_protocol == wire::IntShim::kUdpPayload) {
    udp.destination_port = shim.original;
  } else if (shim.next_protocol == wire::IntShim::kLayer4 &&
             shim.original == wire::kIpProtocolUdp) {
    Read(walk.in, udp);
    if (!walk.in.ok()) return ends(DropReason::kBadUdp);
    if (udp.length < wire::UdpHeader::kSize || udp.length > left) return DropReason::kBadUdp;
    left = udp.length - wire::UdpHeader::kSize;
    walk.Limit(left);
  } else {
    return DropReason::kNotRoce;
  }
  if (udp.destination_port != wire::kUdpPortRoce) return DropReason::kNotRoce;
  DecodedFrame& frame = walk.frame;
  if (is_md) frame.int_stack = stack;
  frame.roce_v1 = false;
  frame.udp_source_port = udp.source_port;
  frame.cut = walk.cut;
  frame.network_packet = {};
  return DecodeTransport(walk.in.Rest(), left, frame);
}

// `ip_packet` extends from the IP header to the end of the captured data or of the IP packet.
DropReason WalkUdp(Walk& walk, std::span<const uint8_t> ip_packet) {
  const bool fits = walk.in.Has(wire::UdpHeader::kSize);
  wire::UdpHeader udp;
  Read(walk.in, udp);
  if (!fits) return walk.cut ? DropReason::kTruncatedUdp : DropReason::kBadUdp;
  if (udp.length < wire::UdpHeader::kSize) return DropReason::kBadUdp;
  const size_t data = udp.length - wire::UdpHeader::kSize;
  if (!walk.fragmented && data > walk.in.remaining() + walk.missing) return DropReason::kBadUdp;
  switch (udp.destination_port) {
    case wire::kUdpPortRoce: {
      const size_t header_end = ip_packet.size() - walk.in.remaining();
      walk.Limit(data);
      walk.frame.roce_v1 = false;
      walk.frame.udp_source_port = udp.source_port;
      walk.frame.cut = walk.cut;
      walk.frame.network_packet =
          walk.cut ? std::span<const uint8_t>() : ip_packet.first(header_end + data);
      return DecodeTransport(walk.in.Rest(), data, walk.frame);
    }
    case wire::kUdpPortVxlan:
      walk.Limit(data);
      return WalkVxlan(walk);
    case wire::kUdpPortGeneve:
      walk.Limit(data);
      return WalkGeneve(walk);
    default:
      break;
  }
  if (udp.destination_port == 0) return DropReason::kNotRoce;
  if (udp.destination_port == walk.ports.int_reports) {
    return TakeTelemetry(walk, FrameKind::kIntReport, udp, data);
  }
  if (udp.destination_port == walk.ports.sflow) {
    return TakeTelemetry(walk, FrameKind::kSflow, udp, data);
  }
  if (udp.destination_port == walk.ports.int_md) return WalkInt(walk, udp, data);
  return DropReason::kNotRoce;
}

DropReason WalkIpPayload(Walk& walk, uint8_t protocol, std::span<const uint8_t> ip_packet) {
  if (protocol == wire::kIpProtocolUdp) return WalkUdp(walk, ip_packet);
  if (protocol == wire::kIpProtocolGre) return WalkGre(walk);
  return DropReason::kNotRoce;
}

DropReason WalkIpv4(Walk& walk) {
  std::span<const uint8_t> packet = walk.in.Rest();
  wire::Ipv4Header ip;
  Read(walk.in, ip);
  if (!walk.in.ok()) return DropReason::kTruncatedIp;
  const size_t header_length = size_t{ip.header_words} * 4;
  if (ip.version != 4 || header_length < wire::Ipv4Header::kSize ||
      ip.total_length < header_length) {
    return DropReason::kBadIp;
  }
  if (packet.size() > ip.total_length) packet = packet.first(ip.total_length);
  walk.Limit(ip.total_length - wire::Ipv4Header::kSize);
  walk.in.Skip(header_length - wire::Ipv4Header::kSize);
  if (!walk.in.ok()) return DropReason::kTruncatedIp;

  DecodedFrame& frame = walk.frame;
  frame.ip_version = 4;
  frame.source = IpAddress::FromV4(ip.source);
  frame.destination = IpAddress::FromV4(ip.destination);
  frame.traffic_class = ip.traffic_class;
  frame.ttl = ip.ttl;
  frame.wire_length = walk.link_length + ip.total_length;
  if (ip.FragmentOffset() != 0) return DropReason::kLaterFragment;
  constexpr uint16_t kMoreFragments = 0x2000;
  walk.fragmented = (ip.fragment & kMoreFragments) != 0;
  walk.cut |= walk.fragmented;  // the rest is in other packets
  return WalkIpPayload(walk, ip.protocol, packet);
}

DropReason WalkIpv6(Walk& walk) {
  std::span<const uint8_t> packet = walk.in.Rest();
  wire::Ipv6Header ip;
  Read(walk.in, ip);
  if (!walk.in.ok()) return DropReason::kTruncatedIp;
  if (ip.version != 6) return DropReason::kBadIp;
  const size_t total = wire::Ipv6Header::kSize + ip.payload_length;
  if (packet.size() > total) packet = packet.first(total);
  walk.Limit(ip.payload_length);

  DecodedFrame& frame = walk.frame;
  frame.ip_version = 6;
  frame.source = ip.source;
  frame.destination = ip.destination;
  frame.traffic_class = ip.traffic_class;
  frame.ttl = ip.hop_limit;
  frame.wire_length = walk.link_length + static_cast<uint32_t>(total);

  uint8_t next = ip.next_header;
  for (int headers = 0; headers <= kMaximumIpv6ExtensionHeaders; ++headers) {
    switch (next) {
      case wire::kIpProtocolHopByHop:
      case wire::kIpProtocolRouting:
      case wire::kIpProtocolDestinationOptions: {
        next = walk.in.U8();
        walk.in.Skip(size_t{walk.in.U8()} * 8 + 6);
        break;
      }
      case wire::kIpProtocolAuthentication: {  // RFC 4302: length in words minus 2
        next = walk.in.U8();
        walk.in.Skip(size_t{walk.in.U8()} * 4 + 6);
        break;
      }
      case wire::kIpProtocolFragment: {
        wire::Ipv6FragmentHeader fragment;
        Read(walk.in, fragment);
        if (walk.in.ok() && fragment.offset != 0) return DropReason::kLaterFragment;
        walk.fragmented |= fragment.more;
        walk.cut |= fragment.more;
        next = fragment.next_header;
        break;
      }
      default:
        return WalkIpPayload(walk, next, packet);
    }
    if (!walk.in.ok()) return walk.cut ? DropReason::kTruncatedIp : DropReason::kBadIp;
  }
  return DropReason::kTooManyHeaders;
}

// RoCEv1: the GRH is in the place of an IPv6 header.
DropReason WalkGrh(Walk& walk) {
  const std::span<const uint8_t> packet = walk.in.Rest();
  wire::Ipv6Header grh;
  Read(walk.in, grh);
  if (!walk.in.ok()) return DropReason::kTruncatedIp;
  if (grh.version != 6) return DropReason::kBadIp;
  if (grh.next_header != wire::kIpProtocolIbGlobalHeader) return DropReason::kNotRoce;
  DecodedFrame& frame = walk.frame;
  frame.ip_version = 6;
  frame.source = grh.source;
  frame.destination = grh.destination;
  frame.traffic_class = grh.traffic_class;
  frame.ttl = grh.hop_limit;
  frame.roce_v1 = true;
  frame.udp_source_port = 0;
  const uint32_t total = wire::Ipv6Header::kSize + grh.payload_length;
  frame.wire_length = walk.link_length + total;
  walk.Limit(grh.payload_length);
  frame.cut = walk.cut;
  frame.network_packet = walk.cut ? std::span<const uint8_t>() : packet.first(total);
  return DecodeTransport(walk.in.Rest(), grh.payload_length, frame);
}

DropReason WalkPause(Walk& walk) {
  DecodedFrame& frame = walk.frame;
  Read(walk.in, frame.pause);
  if (!walk.in.ok()) return DropReason::kTruncatedPause;
  if (frame.pause.opcode != wire::kPauseOpcode && frame.pause.opcode != wire::kPfcOpcode) {
    return DropReason::kNotRoce;
  }
  frame.kind = FrameKind::kPause;
  frame.wire_length = walk.link_length + wire::kMacControlSize;
  frame.cut = walk.cut;
  frame.ip_version = 0;
  frame.parts = 0;
  frame.network_packet = {};
  return DropReason::kNone;
}

DropReason WalkEtherType(Walk& walk, uint16_t ether_type) {
  for (int tags = 0;; ++tags) {
    switch (ether_type) {
      case wire::kEtherTypeIpv4:
        return WalkIpv4(walk);
      case wire::kEtherTypeIpv6:
        return WalkIpv6(walk);
      case wire::kEtherTypeRoceV1:
        return WalkGrh(walk);
      case wire::kEtherTypeMacControl:
        return WalkPause(walk);
      case wire::kEtherTypeVlan:
      case wire::kEtherTypeServiceVlan:
      case wire::kEtherTypeServiceVlanOld: {
        if (tags == kMaximumVlanTags) return DropReason::kTooManyHeaders;
        wire::VlanTag tag;
        Read(walk.in, tag);
        if (!walk.in.ok()) return DropReason::kTruncatedLink;
        if (walk.frame.vlan_count++ == 0) walk.frame.vlan_id = tag.id;
        walk.link_length += wire::VlanTag::kSize;
        ether_type = tag.ether_type;
        break;
      }
      default:
        return DropReason::kNotRoce;
    }
  }
}

DropReason WalkEthernet(Walk& walk) {
  wire::EthernetHeader ethernet;
  Read(walk.in, ethernet);
  if (!walk.in.ok()) return DropReason::kTruncatedLink;
  walk.frame.source_mac = ethernet.source;
  walk.frame.destination_mac = ethernet.destination;
  walk.frame.vlan_count = 0;
  walk.link_length = wire::EthernetHeader::kSize;
  return WalkEtherType(walk, ethernet.ether_type);
}

DropReason WalkLink(const RawFrame& raw, Walk& walk) {
  if (raw.link_type == LinkType::kEthernet) [[likely]] {
    return WalkEthernet(walk);
  }
  walk.frame.source_mac = 0;
  walk.frame.destination_mac = 0;
  // Cooked captures do not contain the Ethernet header that was on the wire; its length still
  // counts.
  walk.link_length = wire::EthernetHeader::kSize;
  switch (raw.link_type) {
    case LinkType::kLinuxCooked: {
      wire::LinuxCookedHeader cooked;
      Read(walk.in, cooked);
      return walk.in.ok() ? WalkEtherType(walk, cooked.ether_type) : DropReason::kTruncatedLink;
    }
    case LinkType::kLinuxCooked2: {
      wire::LinuxCooked2Header cooked;
      Read(walk.in, cooked);
      return walk.in.ok() ? WalkEtherType(walk, cooked.ether_type) : DropReason::kTruncatedLink;
    }
    case LinkType::kRawIp:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      walk.link_length = 0;
      if (raw.bytes.empty()) return DropReason::kTruncatedIp;
      return WalkEtherType(walk,
                           raw.bytes[0] >> 4 == 6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4);
    case LinkType::kEthernet:
      break;
  }
  return DropReason::kNotRoce;
}

}  // namespace

DropReason DecodeFrame(const RawFrame& raw, DecodedFrame& frame, const TelemetryPorts& ports) {
  // Fields that not every path through the decoder writes.
  frame.segment = 0;
  frame.vlan_count = 0;
  frame.mirror.kind = MirrorKind::kNone;
  frame.int_stack = {};
  Walk walk{.in = ByteReader(raw.bytes), .frame = frame, .ports = ports};
  const DropReason reason = WalkLink(raw, walk);
  if (reason != DropReason::kNone) return reason;  // the frame may end before the MAC addresses
  frame.mac_signature =
      FoldMacs(wire::InMemoryOrder<uint32_t>(static_cast<uint32_t>(frame.source_mac)),
               wire::InMemoryOrder<uint32_t>(static_cast<uint32_t>(frame.destination_mac)));
  return reason;
}

}  // namespace rocescope
