// SPDX-License-Identifier: BSD-3-Clause
// Ethernet II and VLAN tags (IEEE 802.3 3.2, 802.1Q 9.6), and Linux cooked captures.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

enum EtherType : uint16_t {
  kEtherTypeIpv4 = 0x0800,
  kEtherTypeTransparentBridging = 0x6558,  // in GRE and Geneve: an Ethernet frame follows
  kEtherTypeVlan = 0x8100,
  kEtherTypeIpv6 = 0x86dd,
  kEtherTypeMacControl = 0x8808,
  kEtherTypeServiceVlan = 0x88a8,
  kEtherTypeErspan2 = 0x88be,  // also type I
  kEtherTypeRoceV1 = 0x8915,
  kEtherTypeServiceVlanOld = 0x9100,  // QinQ before 802.1ad
  kEtherTypeErspan3 = 0x22eb,
};

struct EthernetHeader {
  static constexpr size_t kSize = 14;
  uint64_t destination = 0;  // 48 bits
  uint64_t source = 0;       // 48 bits
  uint16_t ether_type = 0;
};

constexpr void Read(ByteReader& in, EthernetHeader& h) {
  const auto at = in.Take<EthernetHeader::kSize>();
  h.destination = at.U48<0>();
  h.source = at.U48<6>();
  h.ether_type = at.U16<12>();
}
constexpr void Write(ByteWriter& out, const EthernetHeader& h) {
  out.U16(static_cast<uint16_t>(h.destination >> 32));
  out.U32(static_cast<uint32_t>(h.destination));
  out.U16(static_cast<uint16_t>(h.source >> 32));
  out.U32(static_cast<uint32_t>(h.source));
  out.U16(h.ether_type);
}
static_assert(EncodedSize<EthernetHeader>() == EthernetHeader::kSize);

// The bytes after the TPID: tag control information and the next EtherType.
struct VlanTag {
  static constexpr size_t kSize = 4;
  uint8_t priority = 0;  // 3 bits
  bool drop_eligible = false;
  uint16_t id = 0;  // 12 bits
  uint16_t ether_type = 0;
};

constexpr void Read(ByteReader& in, VlanTag& h) {
  const auto at = in.Take<VlanTag::kSize>();
  const uint16_t control = at.U16<0>();
  h.priority = static_cast<uint8_t>(control >> 13);
  h.drop_eligible = (control >> 12 & 1) != 0;
  h.id = control & 0xfff;
  h.ether_type = at.U16<2>();
}
constexpr void Write(ByteWriter& out, const VlanTag& h) {
  out.U16(
      static_cast<uint16_t>(h.priority << 13 | (h.drop_eligible ? 0x1000 : 0) | (h.id & 0xfff)));
  out.U16(h.ether_type);
}
static_assert(EncodedSize<VlanTag>() == VlanTag::kSize);

// LINKTYPE_LINUX_SLL, as `tcpdump -i any` wrote until libpcap 1.10 (www.tcpdump.org/linktypes).
struct LinuxCookedHeader {
  static constexpr size_t kSize = 16;
  uint16_t packet_type = 0;
  uint16_t ether_type = 0;
};

constexpr void Read(ByteReader& in, LinuxCookedHeader& h) {
  const auto at = in.Take<LinuxCookedHeader::kSize>();
  h.packet_type = at.U16<0>();
  // ARPHRD type, address length, address
  h.ether_type = at.U16<14>();
}
constexpr void Write(ByteWriter& out, const LinuxCookedHeader& h) {
  out.U16(h.packet_type);
  out.Zeros(12);
  out.U16(h.ether_type);
}
static_assert(EncodedSize<LinuxCookedHeader>() == LinuxCookedHeader::kSize);

// LINKTYPE_LINUX_SLL2, the successor of LINKTYPE_LINUX_SLL.
struct LinuxCooked2Header {
  static constexpr size_t kSize = 20;
  uint16_t ether_type = 0;
  uint32_t interface_index = 0;
};

constexpr void Read(ByteReader& in, LinuxCooked2Header& h) {
  const auto at = in.Take<LinuxCooked2Header::kSize>();
  h.ether_type = at.U16<0>();
  h.interface_index = at.U32<4>();
}
constexpr void Write(ByteWriter& out, const LinuxCooked2Header& h) {
  out.U16(h.ether_type);
  out.Zeros(2);
  out.U32(h.interface_index);
  out.Zeros(12);
}
static_assert(EncodedSize<LinuxCooked2Header>() == LinuxCooked2Header::kSize);

}  // namespace rocescope::wire
