// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/int_metadata.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::ExpectGolden;
using test::ExpectShortReadsFail;

TEST(IntShim, MatchesTheSpecification) {
  const std::vector<uint8_t> golden = {
      0b0001'01'00,  // Type 1 (MD), NPT 1 (UDP payload), reserved
      0x07,          // Length: 7 words behind the shim
      0x12, 0xb7,    // original UDP destination port 4791
  };
  ExpectGolden(IntShim{.type = kIntTypeMd,
                       .next_protocol = IntShim::kUdpPayload,
                       .length_words = 7,
                       .original = 4791},
               golden);
  ExpectShortReadsFail<IntShim>(golden);
}

TEST(IntMdHeader, MatchesTheSpecification) {
  const std::vector<uint8_t> golden = {
      0b0010'1'1'0'0,        // Ver 2, D, E, M, reserved
      0x00,                  // reserved
      0b000'00010,           // reserved, Hop ML 2
      0x06,                  // Remaining Hop Count
      0x90,           0x00,  // Instruction Bitmap: bits 0 and 3
      0x54,           0x53,  // Domain Specific ID
      0x80,           0x01,  // DS Instruction
      0x12,           0x34,  // DS Flags
  };
  ExpectGolden(IntMdHeader{.discard = true,
                           .hops_exceeded = true,
                           .hop_words = 2,
                           .remaining_hops = 6,
                           .instructions = kIntNodeId | kIntQueue,
                           .domain_id = 0x5453,
                           .domain_instructions = 0x8001,
                           .domain_flags = 0x1234},
               golden);
  ExpectShortReadsFail<IntMdHeader>(golden);
}

TEST(IntMdHeader, KeepsEachFlagInItsOwnBit) {
  EXPECT_EQ(test::Encoded(IntMdHeader{.version = 0, .discard = true})[0], 0x08);
  EXPECT_EQ(test::Encoded(IntMdHeader{.version = 0, .hops_exceeded = true})[0], 0x04);
  EXPECT_EQ(test::Encoded(IntMdHeader{.version = 0, .mtu_exceeded = true})[0], 0x02);
}

TEST(IntMetadata, TakesEightBytesForTimestampsAndLogicalPortsAndFourForTheOthers) {
  EXPECT_EQ(IntMetadataWords(kIntNodeId), 1u);
  EXPECT_EQ(IntMetadataWords(kIntIngressTimestamp), 2u);
  EXPECT_EQ(IntMetadataWords(kIntEgressTimestamp), 2u);
  EXPECT_EQ(IntMetadataWords(kIntLogicalPorts), 2u);
  EXPECT_EQ(IntMetadataWords(0xffff), 16u + 3u);
}

// Every instruction that the specification defines, in the order of its bits, then domain specific
// metadata, then the checksum complement.
const std::vector<uint8_t> kWholeHop = {
    0x00, 0x00, 0x03, 0xe9,                          // bit 0: node ID 1001
    0x00, 0x11, 0x00, 0x22,                          // bit 1: ingress 17, egress 34
    0x00, 0x00, 0x03, 0x20,                          // bit 2: hop latency 800
    0x03, 0x01, 0x86, 0xa0,                          // bit 3: queue 3, occupancy 100,000
    0x17, 0x98, 0x9d, 0x08, 0x7f, 0x6b, 0x00, 0x01,  // bit 4: ingress timestamp
    0x17, 0x98, 0x9d, 0x08, 0x7f, 0x6b, 0x03, 0x21,  // bit 5: egress timestamp
    0x00, 0x01, 0x00, 0x02, 0x00, 0x03, 0x00, 0x04,  // bit 6: logical ports
    0x00, 0x00, 0x00, 0x55,                          // bit 7: egress utilisation 85
    0x01, 0x00, 0xff, 0xff,                          // bit 8: buffer 1, occupancy 65,535
    0xde, 0xad, 0xbe, 0xef,                          // domain specific
    0x00, 0x00, 0xab, 0xcd,                          // bit 15: checksum complement
};
constexpr IntMdHeader kEverything = {.hop_words = 14, .instructions = 0xff81};

TEST(IntHop, MatchesTheSpecification) {
  ByteReader in(kWholeHop);
  IntMetadata hop;
  std::span<const uint8_t> domain;
  ReadIntHop(in, kEverything, hop, domain);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(hop.present, 0xff81);
  EXPECT_EQ(hop.node_id, 1001u);
  EXPECT_EQ(hop.ingress_port, 17u);
  EXPECT_EQ(hop.egress_port, 34u);
  EXPECT_EQ(hop.hop_latency, 800u);
  EXPECT_EQ(hop.queue_id, 3u);
  EXPECT_EQ(hop.queue_occupancy, 100'000u);
  EXPECT_EQ(hop.ingress_timestamp, 0x17989d087f6b0001u);
  EXPECT_EQ(hop.egress_timestamp - hop.ingress_timestamp, 800u);
  EXPECT_EQ(hop.ingress_logical_port, 0x00010002u);
  EXPECT_EQ(hop.egress_logical_port, 0x00030004u);
  EXPECT_EQ(hop.egress_utilisation, 85u);
  EXPECT_EQ(hop.buffer_id, 1u);
  EXPECT_EQ(hop.buffer_occupancy, 65'535u);
  EXPECT_EQ(hop.checksum_complement, 0xabcdu);
  EXPECT_EQ(domain.size(), 4u);

  std::array<uint8_t, 64> room{};
  ByteWriter out(room);
  WriteIntHop(out, kEverything, hop, domain);
  EXPECT_EQ(std::vector<uint8_t>(room.begin(), room.begin() + out.offset()), kWholeHop);
}

TEST(IntHop, TakesAllOnesForNotAvailable) {
  const std::vector<uint8_t> bytes = {
      0xff, 0xff, 0xff, 0xff,                          // node ID
      0x00, 0x00, 0x00, 0x07,                          // hop latency
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  // ingress timestamp
      0xff, 0xff, 0xff, 0xff,                          // bit 9, which is reserved
  };
  const IntMdHeader header = {
      .hop_words = 5, .instructions = kIntNodeId | kIntHopLatency | kIntIngressTimestamp | 0x0040};
  ByteReader in(bytes);
  IntMetadata hop;
  std::span<const uint8_t> domain;
  ReadIntHop(in, header, hop, domain);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(hop.present, kIntHopLatency);

  std::array<uint8_t, 32> room{};
  ByteWriter out(room);
  WriteIntHop(out, header, hop);
  EXPECT_EQ(std::vector<uint8_t>(room.begin(), room.begin() + out.offset()), bytes);
}

TEST(IntHop, IsRefusedWhereItsLengthCannotHoldWhatIsAskedFor) {
  const IntMdHeader header = {.hop_words = 2, .instructions = kIntNodeId | kIntLogicalPorts};
  ByteReader in(kWholeHop);
  IntMetadata hop;
  std::span<const uint8_t> domain;
  ReadIntHop(in, header, hop, domain);
  EXPECT_FALSE(in.ok());
}

TEST(IntStack, HoldsWholeHopsAndWhatOnlyTheSourceAdds) {
  EXPECT_EQ(IntHopsIn({.hop_words = 2}, 4), 2u);
  EXPECT_EQ(IntHopsIn({.hop_words = 2}, 5), 2u) << "one word is the source's";
  EXPECT_EQ(IntHopsIn({.hop_words = 0}, 4), 0u);
}

}  // namespace
}  // namespace rocescope::wire
