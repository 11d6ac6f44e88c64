// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/clear_to_send.h"

#include <gtest/gtest.h>

#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

constexpr uint64_t kAddress = 0x7f1234567890;
constexpr uint32_t kRkey = 0xdeadbeef;

void PutLittleEndian(Bytes& bytes, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
}

// One element of NCCL's FIFO in the sender's layout: address, size, rkey, then the rest.
Bytes Element(uint64_t address = kAddress, uint32_t size = 65536, uint32_t rkey = kRkey,
              size_t length = 32) {
  Bytes bytes;
  PutLittleEndian(bytes, address, 8);
  PutLittleEndian(bytes, size, 4);
  PutLittleEndian(bytes, rkey, 4);
  bytes.resize(length);
  return bytes;
}

Frame WriteHolding(const Bytes& payload, uint8_t opcode = kWriteOnly) {
  return Packet(opcode, 5)
      .Reth({.virtual_address = 0x7f0000002000,
             .rkey = 9,
             .dma_length = static_cast<uint32_t>(payload.size())})
      .Payload(payload);
}

bool IsClearToSend(const Frame& frame) {
  const Bytes bytes = frame.Build();
  const DecodedFrame decoded = Decode(bytes);
  ClearToSend grant;
  return ReadClearToSend(decoded, grant);
}

TEST(ClearToSend, ContainsAddressAndRkeyAtByte12) {
  const Bytes bytes = WriteHolding(Element()).Build();
  const DecodedFrame decoded = Decode(bytes);
  ClearToSend grant;
  ASSERT_TRUE(ReadClearToSend(decoded, grant));
  EXPECT_EQ(grant.address, kAddress);
  EXPECT_EQ(grant.words[0], 65536u);  // byte 8
  EXPECT_EQ(grant.words[1], kRkey);   // byte 12
  EXPECT_EQ(grant.words[5], 0u);
}

TEST(ClearToSend, IsReadAsFarAsCaptured) {
  // Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, then 16 of 64 bytes.
  Frame cut = WriteHolding(Element(kAddress, 1, kRkey, 64));
  EXPECT_TRUE(IsClearToSend(cut.Snap(70 + 16)));
  EXPECT_FALSE(IsClearToSend(cut.Snap(70 + 15)));
}

TEST(ClearToSend, Has16To512BytesInWholeElements) {
  for (const size_t bytes : {16, 32, 64, 512}) {
    EXPECT_TRUE(IsClearToSend(WriteHolding(Element(kAddress, 1, kRkey, bytes)))) << bytes;
  }
  for (const size_t bytes : {20, 40, 528, 1024}) {
    EXPECT_FALSE(IsClearToSend(WriteHolding(Element(kAddress, 1, kRkey, bytes)))) << bytes;
  }
}

TEST(ClearToSend, RequiresUserSpaceAddress) {
  EXPECT_FALSE(IsClearToSend(WriteHolding(Element(0))));
  EXPECT_FALSE(IsClearToSend(WriteHolding(Element(0xffff))));
  EXPECT_TRUE(IsClearToSend(WriteHolding(Element(0x10000))));
  EXPECT_TRUE(IsClearToSend(WriteHolding(Element((uint64_t{1} << 57) - 1))));
  EXPECT_FALSE(IsClearToSend(WriteHolding(Element(uint64_t{1} << 57))));
  EXPECT_FALSE(IsClearToSend(WriteHolding(Element(0xffff800000000000))));  // a kernel address
}

TEST(ClearToSend, RequiresANonZeroWordAfterTheAddress) {
  EXPECT_FALSE(IsClearToSend(WriteHolding(Element(kAddress, 0, 0))));
}

TEST(ClearToSend, RequiresSinglePacketWriteWithoutImmediateData) {
  const Bytes element = Element();
  EXPECT_FALSE(IsClearToSend(WriteHolding(element, kWriteFirst)));
  EXPECT_FALSE(IsClearToSend(Packet(kSendOnly, 5).Payload(element)));
  EXPECT_FALSE(IsClearToSend(
      Packet(kWriteOnlyImmediate, 5).Reth({.dma_length = 32}).ImmDt({}).Payload(element)));
}

TEST(ClearToSend, IsCountedAsControl) {
  FlowFeeder feeder;
  // The second is a retransmission.
  feeder.Feed(WriteHolding(Element())).Feed(WriteHolding(Element()));
  feeder.Feed(WriteOf(6, 1000));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.messages, 2u);
  EXPECT_EQ(record.control_messages, 1u);
  EXPECT_EQ(record.control_bytes, 32u);
  EXPECT_EQ(record.payload_bytes, 1032u);
}

TEST(ClearToSend, IsPartOfTheObservation) {
  FlowFeeder feeder;
  feeder.Feed(WriteHolding(Element()));
  ASSERT_EQ(feeder.out().sightings.size(), 1u);
  const ObservationRecord& sighting = feeder.out().sightings[0];
  EXPECT_TRUE(sighting.has_clear_to_send);
  EXPECT_EQ(sighting.granted_address, kAddress);
  EXPECT_EQ(sighting.granted_words[1], kRkey);
}

}  // namespace
}  // namespace rocescope::test
