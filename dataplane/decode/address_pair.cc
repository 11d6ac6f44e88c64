// SPDX-License-Identifier: BSD-3-Clause
// Parses only what is needed to find the addresses. It accepts values that the decoder rejects.
#include "dataplane/decode/address_pair.h"

#include "dataplane/decode/limits.h"
#include "dataplane/decode/mirror_note.h"
#include "dataplane/decode/plain.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"

namespace rocescope {
namespace {

using wire::ByteReader;

constexpr uint8_t kErspan3FrameIp = 2;

class PairWalk {
 public:
  // `mirror` may be null.
  PairWalk(const RawFrame& raw, MirrorInfo* mirror) : in_(raw.bytes), mirror_(mirror) {
    Link(raw.link_type);
  }

  uint64_t Hash() const { return AddressPairHash(source_, destination_); }

 private:
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

  // IPv4 or IPv6, depending on the first four bits.
  void Ip() {
    if (in_.remaining() == 0) return;
    Behind(in_.Rest()[0] >> 4 == 6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4);
  }

  void Link(LinkType link_type);
  void Behind(uint16_t ether_type);
  void Ipv4();
  void Ipv6();
  void GlobalRoute();
  void IpPayload(uint8_t protocol);
  void Udp();
  void Gre();
  void Erspan2(const wire::GreHeader& gre);
  void Erspan3(const wire::GreHeader& gre);

  // The payload of a tunnel, according to the protocol in its header.
  void Inner(uint16_t protocol) {
    if (!Enter()) return;
    if (protocol == wire::kEtherTypeTransparentBridging) {
      Ethernet();
    } else {
      Behind(protocol);
    }
  }
  // True if this ERSPAN header is the outermost one and the caller asked for it.
  bool IsMirror() const {
    return mirror_ != nullptr && mirror_->kind == MirrorKind::kNone && in_.ok();
  }
  void NoteAddresses() {
    mirror_->source = source_;
    mirror_->destination = destination_;
  }
  bool Enter() { return in_.ok() && ++tunnels_ <= kMaximumTunnels; }

  ByteReader in_;
  MirrorInfo* mirror_;
  IpAddress source_;  // source of the last IP header
  IpAddress destination_;
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
  constexpr uint8_t kMinWords = wire::Ipv4Header::kSize / 4;
  if (!in_.ok() || ip.version != 4 || ip.header_words < kMinWords) return;
  source_ = IpAddress::FromV4(ip.source);
  destination_ = IpAddress::FromV4(ip.destination);
  if (ip.FragmentOffset() != 0) return;
  in_.Skip(size_t{ip.header_words} * 4 - wire::Ipv4Header::kSize);
  IpPayload(ip.protocol);
}

void PairWalk::Ipv6() {
  wire::Ipv6Header ip;
  Read(in_, ip);
  if (!in_.ok() || ip.version != 6) return;
  source_ = ip.source;
  destination_ = ip.destination;
  uint8_t next = ip.next_header;
  for (int headers = 0; headers <= kMaximumIpv6ExtensionHeaders && in_.ok(); ++headers) {
    switch (next) {
      case wire::kIpProtocolHopByHop:
      case wire::kIpProtocolRouting:
      case wire::kIpProtocolDestinationOptions:
        next = in_.U8();
        in_.Skip(size_t{in_.U8()} * 8 + 6);
        break;
      case wire::kIpProtocolAuthentication:  // RFC 4302: length in words minus 2
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

// The network header of RoCEv1. No further addresses follow it.
void PairWalk::GlobalRoute() {
  wire::Ipv6Header grh;
  Read(in_, grh);
  if (!in_.ok() || grh.version != 6) return;
  source_ = grh.source;
  destination_ = grh.destination;
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
  if (gre.protocol == wire::kEtherTypeErspan2) return Erspan2(gre);
  if (gre.protocol == wire::kEtherTypeErspan3) return Erspan3(gre);
  Inner(gre.protocol);
}

// Type I has no sequence number and no ERSPAN header.
void PairWalk::Erspan2(const wire::GreHeader& gre) {
  wire::Erspan2Header erspan;
  if (gre.has_sequence) {
    Read(in_, erspan);
    if (erspan.version != 1) return;
  }
  if (IsMirror()) {
    if (gre.has_sequence) {
      NoteErspan2(gre, erspan, *mirror_);
    } else {
      NoteErspan1(*mirror_);
    }
    NoteAddresses();
  }
  Inner(wire::kEtherTypeTransparentBridging);
}

void PairWalk::Erspan3(const wire::GreHeader& gre) {
  wire::Erspan3Header erspan;
  Read(in_, erspan);
  wire::ErspanPlatformSubheader platform;
  if (erspan.has_platform_subheader) Read(in_, platform);
  if (erspan.version != 2) return;
  if (IsMirror()) {
    NoteErspan3(gre, erspan, platform, *mirror_);
    NoteAddresses();
  }
  if (erspan.frame_type != kErspan3FrameIp) return Inner(wire::kEtherTypeTransparentBridging);
  if (Enter()) Ip();
}

void PairWalk::Link(LinkType link_type) {
  switch (link_type) {
    case LinkType::kEthernet:
      return Ethernet();
    case LinkType::kLinuxCooked:
      return LinuxCooked<wire::LinuxCookedHeader>();
    case LinkType::kLinuxCooked2:
      return LinuxCooked<wire::LinuxCooked2Header>();
    case LinkType::kRawIp:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return Ip();
  }
}

// Up to and including the UDP ports.
constexpr size_t kPlainSize = wire::EthernetHeader::kSize + wire::Ipv4Header::kSize + 4;

// Returns true if Ethernet, IPv4 without options and UDP that is not a tunnel begin at `at`; sets
// `pair`.
[[gnu::always_inline]] inline bool ReadPlain(const wire::Block<kPlainSize>& at, uint64_t& pair) {
  constexpr size_t kIp = wire::EthernetHeader::kSize;
  constexpr size_t kUdp = kIp + wire::Ipv4Header::kSize;
  constexpr uint8_t kVersion4AndFiveWords = 0x45;
  constexpr uint16_t kOffset = 0x1fff;
  const uint16_t port = at.U16<kUdp + 2>();
  if (at.U16<12>() != wire::kEtherTypeIpv4 || at.U8<kIp>() != kVersion4AndFiveWords ||
      (at.U16<kIp + 6>() & kOffset) != 0 || at.U8<kIp + 9>() != wire::kIpProtocolUdp ||
      port == wire::kUdpPortVxlan || port == wire::kUdpPortGeneve) {
    return false;
  }
  pair = FoldAddress(IpAddress::FromV4(at.U32<kIp + 12>())) +
         FoldAddress(IpAddress::FromV4(at.U32<kIp + 16>()));
  return true;
}

// `mirror` may be null. A caller that does not use `mark` has no cost for it, because the call is
// inlined.
[[gnu::always_inline]] inline uint64_t HashOf(const RawFrame& raw, ErspanMark& mark,
                                              MirrorInfo* mirror) {
  if (raw.link_type == LinkType::kEthernet && raw.bytes.size() >= kPlainSize) [[likely]] {
    uint64_t pair = 0;
    if (ReadPlain(wire::Block<kPlainSize>(raw.bytes.data()), pair)) return AddressPairHash(pair);
    size_t size = raw.bytes.size();
    const size_t front = plain::ReadErspan3(raw.bytes.data(), size, mark);
    if (front != 0) {
      if (raw.bytes.size() - front >= kPlainSize &&
          ReadPlain(wire::Block<kPlainSize>(raw.bytes.data() + front), pair)) {
        return AddressPairHash(pair);
      }
      mirror = nullptr;
    }
  }
  return PairWalk(raw, mirror).Hash();
}

}  // namespace

uint64_t AddressPairHash(const RawFrame& raw) {
  ErspanMark mark;
  return HashOf(raw, mark, nullptr);
}

uint64_t AddressPairHash(const RawFrame& raw, ErspanMark& mark, MirrorInfo& mirror) {
  mark.who = 0;
  mirror.kind = MirrorKind::kNone;
  return HashOf(raw, mark, &mirror);
}

uint64_t AddressPairHashGenerally(const RawFrame& raw) { return PairWalk(raw, nullptr).Hash(); }

MirrorInfo FindMirror(const RawFrame& raw) {
  MirrorInfo mirror;
  PairWalk(raw, &mirror);
  return mirror;
}

}  // namespace rocescope
