// SPDX-License-Identifier: BSD-3-Clause
// Encapsulations of switches and overlays: GRE (RFC 2784, 2890), ERSPAN
// (draft-foschiano-erspan-03), VXLAN (RFC 7348), Geneve (RFC 8926).
#pragma once

#include <cstdint>

#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

// The fixed part and the optional words that its flags announce.
struct GreHeader {
  static constexpr size_t kSize = 4;  // without optional words
  bool has_checksum = false;
  bool has_routing = false;  // RFC 1701; deprecated by RFC 2784
  bool has_key = false;
  bool has_sequence = false;
  uint8_t version = 0;
  uint16_t protocol = 0;  // an EtherType
  uint16_t checksum = 0;
  uint32_t key = 0;
  uint32_t sequence = 0;
};

constexpr void Read(ByteReader& in, GreHeader& h) {
  const uint16_t flags = in.U16();
  h.has_checksum = (flags & 0x8000) != 0;
  h.has_routing = (flags & 0x4000) != 0;
  h.has_key = (flags & 0x2000) != 0;
  h.has_sequence = (flags & 0x1000) != 0;
  h.version = flags & 7;
  h.protocol = in.U16();
  h.checksum = 0;
  if (h.has_checksum || h.has_routing) {
    h.checksum = in.U16();
    in.Skip(2);
  }
  h.key = h.has_key ? in.U32() : 0;
  h.sequence = h.has_sequence ? in.U32() : 0;
}
constexpr void Write(ByteWriter& out, const GreHeader& h) {
  out.U16(static_cast<uint16_t>((h.has_checksum ? 0x8000 : 0) | (h.has_routing ? 0x4000 : 0) |
                                (h.has_key ? 0x2000 : 0) | (h.has_sequence ? 0x1000 : 0) |
                                (h.version & 7)));
  out.U16(h.protocol);
  if (h.has_checksum || h.has_routing) {
    out.U16(h.checksum);
    out.U16(0);
  }
  if (h.has_key) out.U32(h.key);
  if (h.has_sequence) out.U32(h.sequence);
}
static_assert(EncodedSize<GreHeader>() == GreHeader::kSize);

// ERSPAN type II (version 1). Type I has no header: GRE without a sequence number, then Ethernet.
struct Erspan2Header {
  static constexpr size_t kSize = 8;
  uint8_t version = 1;
  uint16_t vlan = 0;  // 12 bits
  uint8_t class_of_service = 0;
  uint8_t encapsulation = 0;  // En: 3 means that the frame kept its VLAN tag
  bool truncated = false;
  uint16_t session = 0;  // 10 bits
  uint32_t index = 0;    // 20 bits; identifies the port in the switch's own numbering
};

constexpr void Read(ByteReader& in, Erspan2Header& h) {
  const auto at = in.Take<Erspan2Header::kSize>();
  const uint16_t first = at.U16<0>();
  const uint16_t second = at.U16<2>();
  h.version = static_cast<uint8_t>(first >> 12);
  h.vlan = first & 0xfff;
  h.class_of_service = static_cast<uint8_t>(second >> 13);
  h.encapsulation = static_cast<uint8_t>(second >> 11 & 3);
  h.truncated = (second & 0x400) != 0;
  h.session = second & 0x3ff;
  h.index = at.U32<4>() & 0xfffff;
}
constexpr void Write(ByteWriter& out, const Erspan2Header& h) {
  out.U16(static_cast<uint16_t>(h.version << 12 | (h.vlan & 0xfff)));
  out.U16(static_cast<uint16_t>(h.class_of_service << 13 | (h.encapsulation & 3) << 11 |
                                (h.truncated ? 0x400 : 0) | (h.session & 0x3ff)));
  out.U32(h.index & 0xfffff);
}
static_assert(EncodedSize<Erspan2Header>() == Erspan2Header::kSize);

// Units of an ERSPAN III timestamp (the Gra field).
enum class ErspanGranularity : uint8_t {
  k100Microseconds = 0,
  k100Nanoseconds = 1,
  kIeee1588 = 2,  // nanoseconds; the seconds are in the platform-specific subheader
  kUserDefined = 3,
};

// Nanoseconds per unit; 0 if only the operator knows the unit.
constexpr int64_t NanosecondsOf(ErspanGranularity granularity) {
  switch (granularity) {
    case ErspanGranularity::k100Microseconds:
      return 100'000;
    case ErspanGranularity::k100Nanoseconds:
      return 100;
    case ErspanGranularity::kIeee1588:
      return 1;
    case ErspanGranularity::kUserDefined:
      return 0;
  }
  return 0;
}

// ERSPAN type III (version 2).
struct Erspan3Header {
  static constexpr size_t kSize = 12;
  uint8_t version = 2;
  uint16_t vlan = 0;
  uint8_t class_of_service = 0;
  uint8_t integrity = 0;  // BSO
  bool truncated = false;
  uint16_t session = 0;
  uint32_t timestamp = 0;
  uint16_t security_group_tag = 0;
  bool ethernet_payload = true;  // P
  uint8_t frame_type = 0;        // 0 Ethernet, 2 IP
  uint8_t hardware_id = 0;       // 6 bits
  bool egress = false;           // D
  ErspanGranularity granularity = ErspanGranularity::k100Microseconds;
  bool has_platform_subheader = false;  // O
};

constexpr void Read(ByteReader& in, Erspan3Header& h) {
  const auto at = in.Take<Erspan3Header::kSize>();
  const uint16_t first = at.U16<0>();
  const uint16_t second = at.U16<2>();
  h.version = static_cast<uint8_t>(first >> 12);
  h.vlan = first & 0xfff;
  h.class_of_service = static_cast<uint8_t>(second >> 13);
  h.integrity = static_cast<uint8_t>(second >> 11 & 3);
  h.truncated = (second & 0x400) != 0;
  h.session = second & 0x3ff;
  h.timestamp = at.U32<4>();
  h.security_group_tag = at.U16<8>();
  const uint16_t last = at.U16<10>();
  h.ethernet_payload = (last & 0x8000) != 0;
  h.frame_type = static_cast<uint8_t>(last >> 10 & 0x1f);
  h.hardware_id = static_cast<uint8_t>(last >> 4 & 0x3f);
  h.egress = (last & 8) != 0;
  h.granularity = static_cast<ErspanGranularity>(last >> 1 & 3);
  h.has_platform_subheader = (last & 1) != 0;
}
constexpr void Write(ByteWriter& out, const Erspan3Header& h) {
  out.U16(static_cast<uint16_t>(h.version << 12 | (h.vlan & 0xfff)));
  out.U16(static_cast<uint16_t>(h.class_of_service << 13 | (h.integrity & 3) << 11 |
                                (h.truncated ? 0x400 : 0) | (h.session & 0x3ff)));
  out.U32(h.timestamp);
  out.U16(h.security_group_tag);
  out.U16(static_cast<uint16_t>((h.ethernet_payload ? 0x8000 : 0) | (h.frame_type & 0x1f) << 10 |
                                (h.hardware_id & 0x3f) << 4 | (h.egress ? 8 : 0) |
                                (static_cast<uint16_t>(h.granularity) & 3) << 1 |
                                (h.has_platform_subheader ? 1 : 0)));
}
static_assert(EncodedSize<Erspan3Header>() == Erspan3Header::kSize);

// The optional platform-specific subheader of type III (eight bytes). Layout by platform ID:
//   1: port index (32 bits)
//   3: port (14 bits), upper timestamp (32)
//   5, 6: switch (10), port (16), seconds (32)
//   7: source index (20), upper timestamp (32)
struct ErspanPlatformSubheader {
  static constexpr size_t kSize = 8;
  uint8_t platform_id = 5;  // 6 bits
  uint32_t info = 0;        // 26 bits
  uint32_t word = 0;

  // Other platform IDs are reserved, and their content is undefined.
  constexpr bool HasPort() const {
    return platform_id == 1 || platform_id == 3 || (platform_id >= 5 && platform_id <= 7);
  }
  constexpr uint32_t Port() const {
    switch (platform_id) {
      case 1:
        return word;
      case 3:
        return info & 0x3fff;
      case 7:
        return info & 0xfffff;
      default:
        return info & 0xffff;
    }
  }
  constexpr bool HasSeconds() const { return platform_id == 5 || platform_id == 6; }
  constexpr bool HasUpperTimestamp() const { return platform_id == 3 || platform_id == 7; }
};

constexpr void Read(ByteReader& in, ErspanPlatformSubheader& h) {
  const auto at = in.Take<ErspanPlatformSubheader::kSize>();
  const uint32_t first = at.U32<0>();
  h.platform_id = static_cast<uint8_t>(first >> 26);
  h.info = first & 0x3ffffff;
  h.word = at.U32<4>();
}
constexpr void Write(ByteWriter& out, const ErspanPlatformSubheader& h) {
  out.U32(uint32_t{h.platform_id} << 26 | (h.info & 0x3ffffff));
  out.U32(h.word);
}
static_assert(EncodedSize<ErspanPlatformSubheader>() == ErspanPlatformSubheader::kSize);

struct VxlanHeader {
  static constexpr size_t kSize = 8;
  bool has_network_id = true;  // the I flag, which RFC 7348 requires to be set
  uint32_t network_id = 0;     // VNI, 24 bits
};

constexpr void Read(ByteReader& in, VxlanHeader& h) {
  const auto at = in.Take<VxlanHeader::kSize>();
  h.has_network_id = (at.U8<0>() & 8) != 0;
  h.network_id = at.U24<4>();
}
constexpr void Write(ByteWriter& out, const VxlanHeader& h) {
  out.U8(h.has_network_id ? 8 : 0);
  out.Zeros(3);
  out.U24(h.network_id);
  out.U8(0);
}
static_assert(EncodedSize<VxlanHeader>() == VxlanHeader::kSize);

struct GeneveHeader {
  static constexpr size_t kSize = 8;  // without options
  uint8_t version = 0;
  uint8_t option_words = 0;  // 6 bits, in units of four bytes
  uint16_t protocol = 0;     // an EtherType
  uint32_t network_id = 0;   // VNI, 24 bits
};

constexpr void Read(ByteReader& in, GeneveHeader& h) {
  const auto at = in.Take<GeneveHeader::kSize>();
  const uint8_t first = at.U8<0>();
  h.version = first >> 6;
  h.option_words = first & 0x3f;
  h.protocol = at.U16<2>();
  h.network_id = at.U24<4>();
}
constexpr void Write(ByteWriter& out, const GeneveHeader& h) {
  out.U8(static_cast<uint8_t>(h.version << 6 | (h.option_words & 0x3f)));
  out.U8(0);
  out.U16(h.protocol);
  out.U24(h.network_id);
  out.U8(0);
}
static_assert(EncodedSize<GeneveHeader>() == GeneveHeader::kSize);

}  // namespace rocescope::wire
