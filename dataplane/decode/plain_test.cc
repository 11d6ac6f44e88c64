// SPDX-License-Identifier: BSD-3-Clause
// The straight way through plain frames against the walk.
#include "dataplane/decode/plain.h"

#include <gtest/gtest.h>

#include "dataplane/decode/decode.h"
#include "tests/support/decode_difference.h"
#include "tests/support/frame_mix.h"

namespace rocescope {
namespace {

struct Agreed {
  int walked = 0;  // RoCE frames that the walk decoded
  int plain = 0;   // of these, known to the straight way
  int mirrored = 0;
  int tagged = 0;
  int cut = 0;
};

// All read into places that hold what was read before, as in a batch.
Agreed CountAgreements(const test::FrameMix& mix) {
  Agreed agreed;
  DecodedFrame walked{};
  RocePacket packet{};
  ErspanMark mark;
  for (const RawFrame& raw : mix.frames()) {
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

// Of sixteen frames seven are plain and whole, others tagged, mirrored, cut, or not RoCE over IPv4.
TEST(PlainRoce, IsWhatTheWalkFinds) {
  const Agreed agreed = CountAgreements(test::FrameMix(10'000));
  EXPECT_GT(agreed.plain, 5'000);
  EXPECT_GT(agreed.mirrored, 100);
  EXPECT_GT(agreed.tagged, 100);
  EXPECT_GT(agreed.cut, 100);
  EXPECT_GT(agreed.walked, agreed.plain);
}

TEST(PlainRoce, IsWhatTheWalkFindsInNoise) {
  const Agreed agreed = CountAgreements(test::FrameMix(50'000, true));
  EXPECT_GT(agreed.plain, 5'000);
  EXPECT_GT(agreed.mirrored, 100);
  EXPECT_GT(agreed.cut, 1'000);
  EXPECT_GT(agreed.walked, agreed.plain);
}

}  // namespace
}  // namespace rocescope
