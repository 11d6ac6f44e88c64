// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/ip.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::ExpectGolden;
using test::ExpectShortReadsFail;

TEST(Ipv4, MatchesRfc791) {
  const std::vector<uint8_t> golden = {
      0x45,                    // version 4, header length 5 words
      0x6a,                    // DSCP 26, ECN 2
      0x01, 0x34,              // total length 308
      0x25, 0x32,              // identification
      0x40, 0x00,              // Don't Fragment, offset 0
      0x40,                    // time to live 64
      0x11,                    // protocol: UDP
      0xe0, 0x0a,              // checksum
      0x0a, 0x01, 0x10, 0x3e,  // source 10.1.16.62
      0x0a, 0x01, 0x10, 0x3d,  // destination 10.1.16.61
  };
  ExpectGolden(Ipv4Header{.traffic_class = 26 << 2 | kEcnEct0,
                          .total_length = 308,
                          .identification = 0x2532,
                          .fragment = 0x4000,
                          .ttl = 64,
                          .protocol = kIpProtocolUdp,
                          .checksum = 0xe00a,
                          .source = 0x0a01103e,
                          .destination = 0x0a01103d},
               golden);
  ExpectShortReadsFail<Ipv4Header>(golden);
}

TEST(Ipv4, FragmentOffsetExcludesFlags) {
  EXPECT_EQ(Ipv4Header{.fragment = 0x4000}.FragmentOffset(), 0);
  EXPECT_EQ(Ipv4Header{.fragment = 0x20b9}.FragmentOffset(), 185);
}

// 4500 + 003c + 1c46 + 4000 + 4006 + ac10 + 0a63 + ac10 + 0a0c = 0x24e17; 0x4e17 + 2 = 0x4e19 =
// ~0xb1e6.
TEST(Ipv4, ChecksumIsTheComplementOfTheSumOfWords) {
  const Ipv4Header header = {.total_length = 0x3c,
                             .identification = 0x1c46,
                             .fragment = 0x4000,
                             .ttl = 0x40,
                             .protocol = kIpProtocolTcp,
                             .source = 0xac100a63,
                             .destination = 0xac100a0c};
  EXPECT_EQ(Ipv4Checksum(header), 0xb1e6);
}

TEST(Ipv6, MatchesRfc8200) {
  const std::vector<uint8_t> golden = {
      0x66, 0xab, 0xcd, 0xef,                          // version 6, class 0x6a, label 0xbcdef
      0x01, 0x20,                                      // payload length
      0x11,                                            // next header: UDP
      0x3f,                                            // hop limit
      0xfd, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00, 0x03,  // source
      0x00, 0x04, 0x00, 0x05, 0x00, 0x06, 0x00, 0x07,  //
      0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,  // destination
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x42,  //
  };
  ExpectGolden(Ipv6Header{.traffic_class = 0x6a,
                          .flow_label = 0xbcdef,
                          .payload_length = 0x120,
                          .next_header = kIpProtocolUdp,
                          .hop_limit = 63,
                          .source = {.high = 0xfd00000100020003, .low = 0x0004000500060007},
                          .destination = {.high = 0x20010db800000000, .low = 0x42}},
               golden);
  ExpectShortReadsFail<Ipv6Header>(golden);
}

TEST(Ipv6Fragment, MatchesRfc8200) {
  const std::vector<uint8_t> golden = {
      0x11,                    // next header: UDP
      0x00,                    // reserved
      0x05, 0xc9,              // offset 185 (185 * 8 = 0x5c8), more fragments
      0xde, 0xad, 0xbe, 0xef,  // identification
  };
  ExpectGolden(
      Ipv6FragmentHeader{
          .next_header = kIpProtocolUdp, .offset = 185, .more = true, .identification = 0xdeadbeef},
      golden);
  ExpectShortReadsFail<Ipv6FragmentHeader>(golden);
}

TEST(Udp, MatchesRfc768) {
  const std::vector<uint8_t> golden = {
      0xd8, 0x72,  // source port 55410
      0x12, 0xb7,  // destination port 4791
      0x01, 0x20,  // length
      0xbe, 0xef,  // checksum
  };
  ExpectGolden(UdpHeader{.source_port = 55410,
                         .destination_port = kUdpPortRoce,
                         .length = 0x120,
                         .checksum = 0xbeef},
               golden);
  ExpectShortReadsFail<UdpHeader>(golden);
}

}  // namespace
}  // namespace rocescope::wire
