// SPDX-License-Identifier: BSD-3-Clause
// Compares the decoder's fast path with its general path.
#include "dataplane/decode/plain.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "dataplane/decode/decode.h"
#include "tests/support/decode_difference.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Frame;
using test::RoceFrame;

struct Agreed {
  int walked = 0;  // RoCE frames that the general path decoded
  int plain = 0;   // of these, frames that the fast path decoded
  int mirrored = 0;
  int tagged = 0;
  int cut = 0;
};

// The output structs are reused without clearing, as in a batch.
Agreed CountAgreements(std::span<const RawFrame> frames) {
  Agreed agreed;
  DecodedFrame walked{};
  RocePacket packet{};
  ErspanMark mark;
  for (const RawFrame& raw : frames) {
    const bool is_roce =
        DecodeFrame(raw, walked) == DropReason::kNone && walked.kind == FrameKind::kRoce;
    agreed.walked += is_roce;
    if (!ReadPlainRoce(raw, packet, mark)) continue;
    EXPECT_TRUE(is_roce);
    const char* difference = test::PacketDifference(walked, packet);
    EXPECT_EQ(difference, nullptr) << difference;
    EXPECT_TRUE(test::SameMirror(walked.mirror, mark));
    ++agreed.plain;
    agreed.mirrored += mark.who != 0;
    agreed.tagged += walked.vlan_count > 0;
    agreed.cut += packet.cut;
  }
  return agreed;
}

// Seven of sixteen frames are plain and complete. The others are tagged, mirrored, truncated, or
// not RoCE over IPv4.
TEST(PlainRoce, AgreesWithTheGeneralPath) {
  const Agreed agreed = CountAgreements(test::FrameMix(10'000).frames());
  EXPECT_GT(agreed.plain, 5'000);
  EXPECT_GT(agreed.mirrored, 100);
  EXPECT_GT(agreed.tagged, 100);
  EXPECT_GT(agreed.cut, 100);
  EXPECT_GT(agreed.walked, agreed.plain);
}

TEST(PlainRoce, AgreesWithTheGeneralPathOnRandomBytes) {
  const Agreed agreed = CountAgreements(test::FrameMix(50'000, true).frames());
  EXPECT_GT(agreed.plain, 5'000);
  EXPECT_GT(agreed.mirrored, 100);
  EXPECT_GT(agreed.cut, 1'000);
  EXPECT_GT(agreed.walked, agreed.plain);
}

Agreed CountAgreement(const Bytes& bytes) {
  const RawFrame raw{.bytes = bytes};
  return CountAgreements({&raw, 1});
}

Frame Write(Frame frame) {
  return frame.Bth({.opcode = wire::kOpcodeWriteOnly, .destination_qpn = {9}, .psn = 77})
      .Reth({.virtual_address = 0x123456789a, .rkey = 5, .dma_length = 21})
      .Payload(21);
}

struct Shape {
  const char* name;
  Bytes bytes;
};

std::vector<Shape> Shapes() {
  const Bytes write = Write(RoceFrame()).Build();
  const Bytes tagged = Write(Frame().Eth().Vlan(5).Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build();
  const Bytes followed = Write(RoceFrame()).Trailer(9).Build();
  Bytes outer_followed = test::InErspan3(write, {.session = 3});
  outer_followed.resize(outer_followed.size() + 9);
  return {{"Alone", write},
          {"Tagged", tagged},
          {"Followed", followed},
          {"Mirrored", test::InErspan3(write, {.session = 3})},
          {"MirroredWithPlatform", test::InErspan3(tagged, {.session = 3}, 1, {.info = 17})},
          {"MirroredFollowed", test::InErspan3(followed, {.session = 3})},
          {"MirrorFollowed", outer_followed}};
}

class PlainShape : public testing::TestWithParam<Shape> {};

// Each prefix has its own memory, so that a sanitizer detects reads past its end.
TEST_P(PlainShape, AgreesWithTheGeneralPathOnTruncatedFrames) {
  const Bytes& whole = GetParam().bytes;
  int plain = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    plain += CountAgreement(Bytes(whole.data(), whole.data() + size)).plain;
  }
  EXPECT_GT(plain, 20);  // all prefixes that end after the BTH: RETH, payload, iCRC
}

// Sets each byte of the IP, UDP and tunnel lengths and the pad count to all other values.
TEST_P(PlainShape, AgreesWithTheGeneralPathOnCorruptedBytes) {
  Bytes bytes = GetParam().bytes;
  int plain = 0;
  for (uint8_t& octet : bytes) {
    const uint8_t was = octet;
    for (int value = 0; value < 256; ++value) {
      octet = static_cast<uint8_t>(value);
      plain += CountAgreement(bytes).plain;
    }
    octet = was;
  }
  EXPECT_GT(plain, 10'000);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PlainShape, testing::ValuesIn(Shapes()),
                         [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace rocescope
