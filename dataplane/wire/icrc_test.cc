// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/icrc.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rocescope::wire {
namespace {

using Bytes = std::vector<uint8_t>;

// CRC-32 straight from its definition, bit by bit: polynomial 0x04c11db7, octets least significant
// bit first, all ones at the start, complemented at the end (IBTA vol. 1, 7.8.1).
uint32_t SlowCrc(const Bytes& bytes) {
  uint32_t crc = 0xffffffff;
  for (uint8_t octet : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const uint32_t top = (crc >> 31) ^ (octet >> bit & 1u);
      crc = crc << 1 ^ (top != 0 ? 0x04c11db7u : 0u);
    }
  }
  uint32_t reflected = 0;
  for (int bit = 0; bit < 32; ++bit) reflected |= (crc >> bit & 1) << (31 - bit);
  return ~reflected;
}

Bytes Concat(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Bytes kDummyLrh(8, 0xff);

const Bytes kBthAndPayload = {
    0x04, 0x20, 0xff, 0xff,              // RC SEND ONLY, pad count 2, partition key
    0x40,                                // BECN
    0x00, 0x00, 0x11,                    // destination QP
    0x80, 0x00, 0x00, 0x05,              // AckReq, PSN
    0x61, 0x62, 0x63, 0x64, 0x65, 0x66,  // payload
    0x00, 0x00,                          // padding
};
Bytes MaskedBthAndPayload() {
  Bytes bytes = kBthAndPayload;
  bytes[4] = 0xff;
  return bytes;
}

const Bytes kUdp = {0xc0, 0x00, 0x12, 0xb7, 0x00, 0x20, 0x12, 0x34};
const Bytes kMaskedUdp = {0xc0, 0x00, 0x12, 0xb7, 0x00, 0x20, 0xff, 0xff};

const Bytes kIpv6 = {0x66, 0x8a, 0xbc, 0xde, 0x00, 0x20, 0x11, 0x40,                          //
                     0xfd, 0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 1,  //
                     0xfd, 0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 2};
Bytes MaskedIpv6(uint8_t next_header) {
  Bytes bytes = kIpv6;
  bytes[0] = 0x6f;                        // version stays
  bytes[1] = bytes[2] = bytes[3] = 0xff;  // traffic class, flow label
  bytes[6] = next_header;
  bytes[7] = 0xff;  // hop limit
  return bytes;
}

TEST(Icrc, SlowCrcAgreesWithTheCheckValueOfCrc32) {
  EXPECT_EQ(SlowCrc({'1', '2', '3', '4', '5', '6', '7', '8', '9'}), 0xcbf43926u);
}

TEST(Icrc, Ipv4CountsTosTtlAndChecksumsAsOnes) {
  const Bytes ip = {0x45, 0x6a, 0x00, 0x34, 0x71, 0x8c, 0x40, 0x00, 0x3f, 0x11,
                    0x91, 0x61, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02};
  const Bytes masked = {0x45, 0xff, 0x00, 0x34, 0x71, 0x8c, 0x40, 0x00, 0xff, 0x11,
                        0xff, 0xff, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02};
  EXPECT_EQ(ComputeIcrc(Concat({ip, kUdp, kBthAndPayload})),
            SlowCrc(Concat({kDummyLrh, masked, kMaskedUdp, MaskedBthAndPayload()})));
}

TEST(Icrc, Ipv4OptionsCountAsTheyAre) {
  const Bytes ip = {0x46, 0x6a, 0x00, 0x38, 0x71, 0x8c, 0x40, 0x00, 0x3f, 0x11, 0x91, 0x61,
                    0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x94, 0x04, 0x00, 0x00};
  const Bytes masked = {0x46, 0xff, 0x00, 0x38, 0x71, 0x8c, 0x40, 0x00, 0xff, 0x11, 0xff, 0xff,
                        0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00, 0x00, 0x02, 0x94, 0x04, 0x00, 0x00};
  EXPECT_EQ(ComputeIcrc(Concat({ip, kUdp, kBthAndPayload})),
            SlowCrc(Concat({kDummyLrh, masked, kMaskedUdp, MaskedBthAndPayload()})));
}

TEST(Icrc, Ipv6CountsClassLabelAndHopLimitAsOnes) {
  EXPECT_EQ(ComputeIcrc(Concat({kIpv6, kUdp, kBthAndPayload})),
            SlowCrc(Concat({kDummyLrh, MaskedIpv6(0x11), kMaskedUdp, MaskedBthAndPayload()})));
}

TEST(Icrc, Ipv6ExtensionHeadersCountAsTheyAre) {
  Bytes ip = kIpv6;
  ip[6] = 60;  // destination options
  const Bytes options = {0x11, 0x01, 0x01, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(
      ComputeIcrc(Concat({ip, options, kUdp, kBthAndPayload})),
      SlowCrc(Concat({kDummyLrh, MaskedIpv6(60), options, kMaskedUdp, MaskedBthAndPayload()})));
}

// RFC 8200, 4.5, and RFC 4302, 2: an atomic fragment's header is 8 octets, an authentication
// header's length counts words less two.
TEST(Icrc, FindsTheUdpChecksumBehindFragmentAndAuthenticationHeaders) {
  Bytes ip = kIpv6;
  ip[6] = 44;
  const Bytes fragment = {51, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef};
  const Bytes authentication = {0x11, 0x04, 0, 0, 0, 0, 0, 1, 0, 0, 0,  2,
                                0,    1,    2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_EQ(ComputeIcrc(Concat({ip, fragment, authentication, kUdp, kBthAndPayload})),
            SlowCrc(Concat({kDummyLrh, MaskedIpv6(44), fragment, authentication, kMaskedUdp,
                            MaskedBthAndPayload()})));
}

TEST(Icrc, RoceV1HasItsBthRightBehindTheGrh) {
  Bytes grh = kIpv6;
  grh[6] = 27;
  EXPECT_EQ(ComputeIcrc(Concat({grh, kBthAndPayload})),
            SlowCrc(Concat({kDummyLrh, MaskedIpv6(27), MaskedBthAndPayload()})));
}

TEST(Icrc, AnyCutGivesSomeNumber) {
  const Bytes packet = Concat({kIpv6, kUdp, kBthAndPayload});
  for (size_t size = 0; size <= packet.size(); ++size) {
    const Bytes cut(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size));
    Bytes masked = Concat({kDummyLrh, MaskedIpv6(0x11), kMaskedUdp, MaskedBthAndPayload()});
    masked.resize(kDummyLrh.size() + size);
    if (size > 6) {  // the next header is there
      EXPECT_EQ(ComputeIcrc(cut), SlowCrc(masked)) << size;
    } else {
      ComputeIcrc(cut);
    }
  }
}

TEST(Icrc, LiesOnTheWireLeastSignificantByteFirst) {
  std::array<uint8_t, 4> bytes{};
  ByteWriter out(bytes);
  WriteIcrc(out, 0x2a00fd82);
  EXPECT_EQ(bytes, (std::array<uint8_t, 4>{0x82, 0xfd, 0x00, 0x2a}));
  EXPECT_EQ(ReadIcrc(bytes), 0x2a00fd82u);
}

}  // namespace
}  // namespace rocescope::wire
