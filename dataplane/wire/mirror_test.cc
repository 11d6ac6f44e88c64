// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/mirror.h"

#include <gtest/gtest.h>

#include "dataplane/wire/ethernet.h"
#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::ExpectGolden;
using test::ExpectShortReadsFail;

TEST(Gre, MatchesRfc2784) {
  const std::vector<uint8_t> golden = {
      0x00, 0x00,  // no flags, version 0
      0x65, 0x58,  // protocol: Ethernet
  };
  ExpectGolden(GreHeader{.protocol = kEtherTypeTransparentBridging}, golden);
  ExpectShortReadsFail<GreHeader>(golden);
}

TEST(Gre, MatchesRfc2890) {
  const std::vector<uint8_t> golden = {
      0b1'0'1'1'0000, 0x00,              // C, K and S flags, version 0
      0x88,           0xbe,              // protocol: ERSPAN
      0xab,           0xcd,              // checksum
      0x00,           0x00,              // reserved
      0x00,           0x00, 0x00, 0x2a,  // key
      0x00,           0x01, 0xe2, 0x40,  // sequence number 123456
  };
  ExpectGolden(GreHeader{.has_checksum = true,
                         .has_key = true,
                         .has_sequence = true,
                         .protocol = kEtherTypeErspan2,
                         .checksum = 0xabcd,
                         .key = 42,
                         .sequence = 123456},
               golden);
  ExpectShortReadsFail<GreHeader>(golden);
}

TEST(Gre, KeepsVersionAndRoutingFlag) {
  ExpectGolden(GreHeader{.version = 1, .protocol = 0x880b}, {0x00, 0x01, 0x88, 0x0b});
  ExpectGolden(GreHeader{.has_routing = true, .protocol = kEtherTypeIpv4},
               {0x40, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00});
}

TEST(Erspan2, MatchesTheDraft) {
  const std::vector<uint8_t> golden = {
      0x1'6,         0x7b,              // version 1, VLAN 0x67b
      0b101'11'1'10, 0xa5,              // COS 5, En 3, T, session 0x2a5 = 677
      0x00,          0x0a, 0xbc, 0xde,  // reserved, index 0xabcde
  };
  ExpectGolden(Erspan2Header{.vlan = 0x67b,
                             .class_of_service = 5,
                             .encapsulation = 3,
                             .truncated = true,
                             .session = 677,
                             .index = 0xabcde},
               golden);
  ExpectShortReadsFail<Erspan2Header>(golden);
}

TEST(Erspan3, MatchesTheDraft) {
  const std::vector<uint8_t> golden = {
      0x2'6,         0x7b,                       // version 2, VLAN 0x67b
      0b101'10'1'10, 0xa5,                       // COS 5, BSO 2, T, session 677
      0x01,          0x23,          0x45, 0x67,  // timestamp
      0xbe,          0xef,                       // security group tag
      0b1'00010'10,  0b1011'1'10'1,              // P, FT 2, HW id 0b101011 = 43, D, Gra 2, O
  };
  ExpectGolden(Erspan3Header{.vlan = 0x67b,
                             .class_of_service = 5,
                             .integrity = 2,
                             .truncated = true,
                             .session = 677,
                             .timestamp = 0x01234567,
                             .security_group_tag = 0xbeef,
                             .frame_type = 2,
                             .hardware_id = 43,
                             .egress = true,
                             .granularity = ErspanGranularity::kIeee1588,
                             .has_platform_subheader = true},
               golden);
  ExpectShortReadsFail<Erspan3Header>(golden);
}

TEST(Erspan3, KeepsEachFlagInItsOwnBit) {
  const auto last = [](const Erspan3Header& header) {
    const std::vector<uint8_t> bytes = test::Encoded(header);
    return bytes.at(10) << 8 | bytes.at(11);
  };
  EXPECT_EQ(last({.ethernet_payload = true}), 0x8000);
  EXPECT_EQ(last({.ethernet_payload = false, .egress = true}), 0x0008);
  EXPECT_EQ(last({.ethernet_payload = false, .granularity = ErspanGranularity::kUserDefined}),
            0x0006);
  EXPECT_EQ(last({.ethernet_payload = false, .has_platform_subheader = true}), 0x0001);
}

TEST(ErspanPlatform, Number5NamesSwitchPortAndSeconds) {
  const std::vector<uint8_t> golden = {
      0b000101'10, 0x01,              // platform 5, switch 0b10'00000001 = 513
      0x12,        0x34,              // port index
      0x65,        0x4f, 0x00, 0x01,  // seconds
  };
  const ErspanPlatformSubheader header = {
      .platform_id = 5, .info = 513 << 16 | 0x1234, .word = 0x654f0001};
  ExpectGolden(header, golden);
  ExpectShortReadsFail<ErspanPlatformSubheader>(golden);
  EXPECT_TRUE(header.HasPort());
  EXPECT_EQ(header.Port(), 0x1234u);
  EXPECT_TRUE(header.HasSeconds());
  EXPECT_FALSE(header.HasUpperTimestamp());
}

TEST(ErspanPlatform, Number1NamesAPort) {
  const std::vector<uint8_t> golden = {
      0b000001'00, 0x00,              // platform 1, reserved
      0x0f,        0xff,              // VSM domain
      0x00,        0x01, 0x00, 0x02,  // port index
  };
  const auto header = test::Decoded<ErspanPlatformSubheader>(golden);
  EXPECT_TRUE(header.HasPort());
  EXPECT_EQ(header.Port(), 0x10002u);
  EXPECT_FALSE(header.HasSeconds());
  EXPECT_FALSE(header.HasUpperTimestamp());
}

TEST(ErspanPlatform, Number3NamesAPortAndTheUpperTimestamp) {
  const std::vector<uint8_t> golden = {
      0b000011'11, 0xff,              // platform 3, reserved bits set
      0b11'100000, 0x01,              // reserved, port index 0x2001 in 14 bits
      0x00,        0x00, 0x00, 0x09,  // upper half of the timestamp
  };
  const auto header = test::Decoded<ErspanPlatformSubheader>(golden);
  EXPECT_TRUE(header.HasPort());
  EXPECT_EQ(header.Port(), 0x2001u);
  EXPECT_TRUE(header.HasUpperTimestamp());
  EXPECT_EQ(header.word, 9u);
}

TEST(ErspanPlatform, Number7NamesASourceAndTheUpperTimestamp) {
  const std::vector<uint8_t> golden = {
      0b000111'11, 0b1111'1010,              // platform 7, reserved bits set, source index 0xabcde
      0xbc,        0xde,                     //
      0x00,        0x00,        0x00, 0x09,  // upper half of the timestamp
  };
  const auto header = test::Decoded<ErspanPlatformSubheader>(golden);
  EXPECT_EQ(header.Port(), 0xabcdeu);
  EXPECT_TRUE(header.HasUpperTimestamp());
}

TEST(ErspanPlatform, ReservedNumbersSayNothing) {
  for (uint8_t id : {0, 2, 4, 8, 63}) {
    const ErspanPlatformSubheader header = {.platform_id = id, .info = 77, .word = 88};
    EXPECT_FALSE(header.HasPort()) << int{id};
    EXPECT_FALSE(header.HasSeconds()) << int{id};
    EXPECT_FALSE(header.HasUpperTimestamp()) << int{id};
  }
}

TEST(Vxlan, MatchesRfc7348) {
  const std::vector<uint8_t> golden = {
      0b00001000, 0x00, 0x00, 0x00,  // flags: I; reserved
      0x12,       0x34, 0x56,        // VNI
      0x00,                          // reserved
  };
  ExpectGolden(VxlanHeader{.network_id = 0x123456}, golden);
  ExpectShortReadsFail<VxlanHeader>(golden);
}

TEST(Geneve, MatchesRfc8926) {
  const std::vector<uint8_t> golden = {
      0b01'000011, 0x00,        // version 1, three words of options; O, C, reserved
      0x65,        0x58,        // protocol: Ethernet
      0x12,        0x34, 0x56,  // VNI
      0x00,                     // reserved
  };
  ExpectGolden(GeneveHeader{.version = 1,
                            .option_words = 3,
                            .protocol = kEtherTypeTransparentBridging,
                            .network_id = 0x123456},
               golden);
  ExpectShortReadsFail<GeneveHeader>(golden);
}

}  // namespace
}  // namespace rocescope::wire
