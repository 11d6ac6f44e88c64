// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/roce.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::ExpectGolden;
using test::ExpectShortReadsFail;

TEST(Bth, MatchesIbta92) {
  const std::vector<uint8_t> golden = {
      0x0a,                       // opcode: RC RDMA WRITE Only
      0b1'1'10'0000,              // solicited event, MigReq, pad count 2, version 0
      0x80,          0x01,        // partition key
      0b1'1'000000,               // FECN, BECN, reserved
      0x12,          0x34, 0x56,  // destination QP
      0b1'0000000,                // AckReq, reserved
      0xfe,          0xbd, 0x3d,  // PSN
  };
  ExpectGolden(Bth{.opcode = 0x0a,
                   .solicited_event = true,
                   .migration_request = true,
                   .pad_count = 2,
                   .partition_key = 0x8001,
                   .fecn = true,
                   .becn = true,
                   .destination_qpn = {0x123456},
                   .ack_request = true,
                   .psn = 0xfebd3d},
               golden);
  ExpectShortReadsFail<Bth>(golden);
}

// Tests each flag separately, so that no flag is confused with another.
TEST(Bth, KeepsEachFlagInItsOwnBit) {
  const auto octet = [](const Bth& bth, size_t at) { return test::Encoded(bth).at(at); };
  EXPECT_EQ(octet({.solicited_event = true}, 1), 0x80);
  EXPECT_EQ(octet({.migration_request = true}, 1), 0x40);
  EXPECT_EQ(octet({.pad_count = 3}, 1), 0x30);
  EXPECT_EQ(octet({.transport_version = 0xf}, 1), 0x0f);
  EXPECT_EQ(octet({.fecn = true}, 4), 0x80);
  EXPECT_EQ(octet({.becn = true}, 4), 0x40);
  EXPECT_EQ(octet({.ack_request = true}, 8), 0x80);
}

TEST(Bth, IgnoresReservedBits) {
  const std::vector<uint8_t> golden = {0x04, 0x00, 0xff, 0xff, 0x3f, 0, 0, 1, 0x7f, 0, 0, 2};
  const Bth bth = test::Decoded<Bth>(golden);
  EXPECT_FALSE(bth.fecn);
  EXPECT_FALSE(bth.becn);
  EXPECT_EQ(bth.destination_qpn, Qpn{1});
  EXPECT_FALSE(bth.ack_request);
  EXPECT_EQ(bth.psn, 2u);
}

TEST(Reth, MatchesIbta931) {
  const std::vector<uint8_t> golden = {
      0x7f, 0xee, 0x26, 0x0f, 0xb0, 0x00, 0x10, 0x20,  // virtual address
      0x00, 0x02, 0xb8, 0x01,                          // R_Key
      0x00, 0x01, 0x00, 0x40,                          // DMA length
  };
  ExpectGolden(Reth{.virtual_address = 0x7fee260fb0001020, .rkey = 0x2b801, .dma_length = 0x10040},
               golden);
  ExpectShortReadsFail<Reth>(golden);
}

TEST(Aeth, MatchesIbta9351) {
  const std::vector<uint8_t> golden = {
      0b0'11'00001,      // syndrome: NAK, code 1
      0xab, 0xcd, 0xef,  // MSN
  };
  ExpectGolden(Aeth{.syndrome = 0x61, .msn = 0xabcdef}, golden);
  ExpectShortReadsFail<Aeth>(golden);
}

// Table 43: bits 6 and 5 give the kind, bits 4 to 0 the value.
TEST(Aeth, SyndromeHasKindAndValue) {
  EXPECT_EQ(KindOf({.syndrome = 0b000'11111}), AethKind::kAck);
  EXPECT_EQ(ValueOf({.syndrome = 0b000'11111}), 31);  // credits not used
  EXPECT_EQ(KindOf({.syndrome = 0b001'01110}), AethKind::kRnrNak);
  EXPECT_EQ(ValueOf({.syndrome = 0b001'01110}), 14);  // timer code
  EXPECT_EQ(KindOf({.syndrome = 0b010'00000}), AethKind::kReserved);
  EXPECT_EQ(KindOf({.syndrome = 0b011'00000}), AethKind::kNak);
  EXPECT_EQ(ValueOf({.syndrome = 0b011'00010}), kNakRemoteAccessError);
}

TEST(Deth, MatchesIbta932) {
  const std::vector<uint8_t> golden = {
      0x80, 0x01, 0x00, 0x00,  // queue key
      0x00,                    // reserved
      0x00, 0x01, 0x23,        // source QP
  };
  ExpectGolden(Deth{.queue_key = 0x80010000, .source_qpn = {0x123}}, golden);
  ExpectShortReadsFail<Deth>(golden);
}

TEST(Rdeth, MatchesIbta933) {
  const std::vector<uint8_t> golden = {0x00, 0x65, 0x43, 0x21};  // reserved, EE context
  ExpectGolden(Rdeth{.ee_context = 0x654321}, golden);
  ExpectShortReadsFail<Rdeth>(golden);
}

TEST(Xrceth, MatchesAnnexA14) {
  const std::vector<uint8_t> golden = {0x00, 0x65, 0x43, 0x21};  // reserved, XRC SRQ
  ExpectGolden(Xrceth{.srq_number = 0x654321}, golden);
  ExpectShortReadsFail<Xrceth>(golden);
}

TEST(AtomicEth, MatchesIbta9331) {
  const std::vector<uint8_t> golden = {
      0x00, 0x00, 0x55, 0xd4, 0xc0, 0x72, 0x60, 0x08,  // virtual address
      0x00, 0x00, 0x47, 0xb3,                          // R_Key
      0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,  // swap (or add) data
      0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,  // compare data
  };
  ExpectGolden(AtomicEth{.virtual_address = 0x55d4c0726008,
                         .rkey = 0x47b3,
                         .swap_or_add = 0x1112131415161718,
                         .compare = 0x2122232425262728},
               golden);
  ExpectShortReadsFail<AtomicEth>(golden);
}

TEST(AtomicAckEth, MatchesIbta9353) {
  const std::vector<uint8_t> golden = {0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38};
  ExpectGolden(AtomicAckEth{.original_data = 0x3132333435363738}, golden);
  ExpectShortReadsFail<AtomicAckEth>(golden);
}

TEST(ImmDt, IsFourBytesOfData) {
  const std::vector<uint8_t> golden = {0xca, 0xfe, 0x00, 0x07};
  ExpectGolden(ImmDt{.data = 0xcafe0007}, golden);
  ExpectShortReadsFail<ImmDt>(golden);
}

TEST(Ieth, IsTheRkeyToInvalidate) {
  const std::vector<uint8_t> golden = {0x00, 0x02, 0xb8, 0x01};
  ExpectGolden(Ieth{.rkey = 0x2b801}, golden);
  ExpectShortReadsFail<Ieth>(golden);
}

}  // namespace
}  // namespace rocescope::wire
