// SPDX-License-Identifier: BSD-3-Clause
// The decoder's walk, less all that is not on the way to the addresses. It is laxer: what only the
// decoder refuses may have any value.
#include "dataplane/decode/address_pair.h"

#include "dataplane/decode/limits.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"

namespace rocescope {
namespace {

using wire::ByteReader;

constexpr uint8_t kErspan3FrameIp = 2;

uint64_t PairOf(uint32_t source, uint32_t destination) {
  return FoldAddress(IpAddress::FromV4(source)) + FoldAddress(IpAddress::FromV4(destination));
}

class PairWalk {
 public:
  explicit PairWalk(std::span<const uint8_t> bytes) : in_(bytes) {}

  void Ethernet() {
    wire::EthernetHeader ethernet;
    Read(in_, ethernet);
    if (in_.ok()) Behind(ethernet.ether_type);
  }

  template <typename Cooked>
  void LinuxCooked() {
    Cooked cooked;
    Read(in_, cooked);
    if (in_.ok()) Behind(cooked.ether_type);
  }

  // IPv4 or IPv6, as the first four bits say.
  void Ip() {
    if (in_.remaining() == 0) return;
    Behind(in_.Rest()[0] >> 4 == 6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4);
  }

  uint64_t pair() const { return pair_; }

 private:
  void Behind(uint16_t ether_type);
  void Ipv4();
  void Ipv6();
  void GlobalRoute();
  void IpPayload(uint8_t protocol);
  void Udp();
  void Gre();
  void Erspan2(bool has_header);
  void Erspan3();

  // What a tunnel carries, as its header names it.
  void Inner(uint16_t protocol) {
    if (!Enter()) return;
    if (protocol == wire::kEtherTypeTransparentBridging) {
      Ethernet();
    } else {
      Behind(protocol);
    }
  }
  bool Enter() { return in_.ok() && ++tunnels_ <= kMaximumTunnels; }

  ByteReader in_;
  uint64_t pair_ = 0;
  int tunnels_ = 0;
};

void PairWalk::Behind(uint16_t ether_type) {
  for (int tags = 0; tags <= kMaximumVlanTags && in_.ok(); ++tags) {
    switch (ether_type) {
      case wire::kEtherTypeIpv4:
        return Ipv4();
      case wire::kEtherTypeIpv6:
        return Ipv6();
      case wire::kEtherTypeRoceV1:
        return GlobalRoute();
      case wire::kEtherTypeVlan:
      case wire::kEtherTypeServiceVlan:
      case wire::kEtherTypeServiceVlanOld: {
        wire::VlanTag tag;
        Read(in_, tag);
        ether_type = tag.ether_type;
        break;
      }
      default:
        return;
    }
  }
}

void PairWalk::Ipv4() {
  wire::Ipv4Header ip;
  Read(in_, ip);
  constexpr uint8_t kLeastWords = wire::Ipv4Header::kSize / 4;
  if (!in_.ok() || ip.version != 4 || ip.header_words < kLeastWords) return;
  pair_ = PairOf(ip.source, ip.destination);
  if (ip.FragmentOffset() != 0) return;
  in_.Skip(size_t{ip.header_words} * 4 - wire::Ipv4Header::kSize);
  IpPayload(ip.protocol);
}

void PairWalk::Ipv6() {
  wire::Ipv6Header ip;
  Read(in_, ip);
  if (!in_.ok() || ip.version != 6) return;
  pair_ = FoldAddress(ip.source) + FoldAddress(ip.destination);
  uint8_t next = ip.next_header;
  for (int headers = 0; headers <= kMaximumIpv6ExtensionHeaders && in_.ok(); ++headers) {
    switch (next) {
      case wire::kIpProtocolHopByHop:
      case wire::kIpProtocolRouting:
      case wire::kIpProtocolDestinationOptions:
        next = in_.U8();
        in_.Skip(size_t{in_.U8()} * 8 + 6);
        break;
      case wire::kIpProtocolAuthentication:  // RFC 4302: length in words, less two
        next = in_.U8();
        in_.Skip(size_t{in_.U8()} * 4 + 6);
        break;
      case wire::kIpProtocolFragment: {
        wire::Ipv6FragmentHeader fragment;
        Read(in_, fragment);
        if (fragment.offset != 0) return;
        next = fragment.next_header;
        break;
      }
      default:
        return IpPayload(next);
    }
  }
}

// RoCEv1's network header, which nothing with further addresses follows.
void PairWalk::GlobalRoute() {
  wire::Ipv6Header grh;
  Read(in_, grh);
  if (in_.ok() && grh.version == 6) pair_ = FoldAddress(grh.source) + FoldAddress(grh.destination);
}

void PairWalk::IpPayload(uint8_t protocol) {
  if (protocol == wire::kIpProtocolUdp) Udp();
  if (protocol == wire::kIpProtocolGre) Gre();
}

void PairWalk::Udp() {
  wire::UdpHeader udp;
  Read(in_, udp);
  if (udp.destination_port == wire::kUdpPortVxlan) {
    wire::VxlanHeader vxlan;
    Read(in_, vxlan);
    if (vxlan.has_network_id) Inner(wire::kEtherTypeTransparentBridging);
  } else if (udp.destination_port == wire::kUdpPortGeneve) {
    wire::GeneveHeader geneve;
    Read(in_, geneve);
    in_.Skip(size_t{geneve.option_words} * 4);
    if (geneve.version == 0) Inner(geneve.protocol);
  }
}

void PairWalk::Gre() {
  wire::GreHeader gre;
  Read(in_, gre);
  if (gre.version != 0 || gre.has_routing) return;
  if (gre.protocol == wire::kEtherTypeErspan2) return Erspan2(gre.has_sequence);
  if (gre.protocol == wire::kEtherTypeErspan3) return Erspan3();
  Inner(gre.protocol);
}

// Type I has no header of its own.
void PairWalk::Erspan2(bool has_header) {
  if (has_header) {
    wire::Erspan2Header erspan;
    Read(in_, erspan);
    if (erspan.version != 1) return;
  }
  Inner(wire::kEtherTypeTransparentBridging);
}

void PairWalk::Erspan3() {
  wire::Erspan3Header erspan;
  Read(in_, erspan);
  if (erspan.has_platform_subheader) in_.Skip(wire::ErspanPlatformSubheader::kSize);
  if (erspan.version != 2) return;
  if (erspan.frame_type != kErspan3FrameIp) return Inner(wire::kEtherTypeTransparentBridging);
  if (Enter()) Ip();
}

// Ethernet and IPv4 without options, in front of UDP or GRE.
enum class Plain : uint8_t { kNo, kEnd, kGre };

// kEnd: `pair` is that of the frame's addresses. kGre: it lies in a tunnel over GRE.
template <size_t kSize>
[[gnu::always_inline]] inline Plain ReadPlain(const wire::Block<kSize>& at, uint64_t& pair) {
  constexpr size_t kIp = wire::EthernetHeader::kSize;
  constexpr size_t kUdp = kIp + wire::Ipv4Header::kSize;
  constexpr uint8_t kVersion4AndFiveWords = 0x45;
  constexpr uint16_t kOffset = 0x1fff;
  if (at.template U16<12>() != wire::kEtherTypeIpv4 ||
      at.template U8<kIp>() != kVersion4AndFiveWords ||
      (at.template U16<kIp + 6>() & kOffset) != 0) {
    return Plain::kNo;
  }
  const uint8_t protocol = at.template U8<kIp + 9>();
  if (protocol == wire::kIpProtocolGre) return Plain::kGre;
  const uint16_t port = at.template U16<kUdp + 2>();
  if (protocol != wire::kIpProtocolUdp || port == wire::kUdpPortVxlan ||
      port == wire::kUdpPortGeneve) {
    return Plain::kNo;
  }
  pair = PairOf(at.template U32<kIp + 12>(), at.template U32<kIp + 16>());
  return Plain::kEnd;
}

// As far as UDP's ports.
constexpr size_t kPlainSize = wire::EthernetHeader::kSize + wire::Ipv4Header::kSize + 4;

// GRE with a sequence number alone and ERSPAN III around a plain frame.
[[gnu::always_inline]] inline bool ReadPlainErspan3(std::span<const uint8_t> gre, uint64_t& pair) {
  constexpr uint32_t kSequenceThenErspan3 = 0x10000000 | wire::kEtherTypeErspan3;
  constexpr size_t kErspan = wire::GreHeader::kSize + 4;
  constexpr size_t kInner = kErspan + wire::Erspan3Header::kSize;
  ByteReader in(gre);
  const auto at = in.Take<kInner>();
  if (!in.ok() || at.U32<0>() != kSequenceThenErspan3 || at.U8<kErspan>() >> 4 != 2) return false;
  const uint16_t last = at.U16<kErspan + 10>();
  if ((last >> 10 & 0x1f) == kErspan3FrameIp) return false;
  if ((last & 1) != 0) in.Skip(wire::ErspanPlatformSubheader::kSize);
  const auto inner = in.Take<kPlainSize>();
  return in.ok() && ReadPlain(inner, pair) == Plain::kEnd;
}

}  // namespace

uint64_t AddressPairHashGenerally(const RawFrame& raw) {
  PairWalk walk(raw.bytes);
  switch (raw.link_type) {
    case LinkType::kEthernet:
      walk.Ethernet();
      break;
    case LinkType::kLinuxCooked:
      walk.LinuxCooked<wire::LinuxCookedHeader>();
      break;
    case LinkType::kLinuxCooked2:
      walk.LinuxCooked<wire::LinuxCooked2Header>();
      break;
    case LinkType::kRawIp:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      walk.Ip();
      break;
  }
  return AddressPairHash(walk.pair());
}

uint64_t AddressPairHash(const RawFrame& raw) {
  if (raw.link_type == LinkType::kEthernet && raw.bytes.size() >= kPlainSize) [[likely]] {
    uint64_t pair = 0;
    const Plain plain = ReadPlain(wire::Block<kPlainSize>(raw.bytes.data()), pair);
    if (plain == Plain::kEnd) return AddressPairHash(pair);
    constexpr size_t kGre = wire::EthernetHeader::kSize + wire::Ipv4Header::kSize;
    if (plain == Plain::kGre && ReadPlainErspan3(raw.bytes.subspan(kGre), pair)) {
      return AddressPairHash(pair);
    }
  }
  return AddressPairHashGenerally(raw);
}

}  // namespace rocescope
