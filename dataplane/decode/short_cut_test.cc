// SPDX-License-Identifier: BSD-3-Clause
// The short cut for plain RoCE frames against the general walk.
#include <gtest/gtest.h>

#include "dataplane/decode/decode.h"
#include "tests/support/decode_difference.h"
#include "tests/support/frame_mix.h"

namespace rocescope {
namespace {

struct Agreed {
  int decoded = 0;
  int plain = 0;  // Ethernet and IPv4 in front of RoCE: the short cut's
  int cut = 0;
  int dropped = 0;
};

// Both decode into frames that hold what was decoded before, as in a batch.
Agreed CountAgreements(const test::FrameMix& mix) {
  Agreed agreed;
  DecodedFrame frame{};
  DecodedFrame general{};
  for (const RawFrame& raw : mix.frames()) {
    const DropReason reason = DecodeFrame(raw, frame);
    EXPECT_EQ(reason, DecodeFrameGenerally(raw, general));
    if (reason != DropReason::kNone) {
      ++agreed.dropped;
      continue;
    }
    const char* difference = test::DecodeDifference(frame, general);
    EXPECT_EQ(difference, nullptr) << difference;
    ++agreed.decoded;
    agreed.plain +=
        frame.ip_version == 4 && frame.vlan_count == 0 && frame.mirror.kind == MirrorKind::kNone;
    agreed.cut += frame.cut;
  }
  return agreed;
}

// Of sixteen frames seven are plain and whole, four not RoCE, cut, pause or of another network.
TEST(ShortCut, FindsWhatTheGeneralWalkFinds) {
  const Agreed agreed = CountAgreements(test::FrameMix(10'000));
  EXPECT_GT(agreed.plain, 4'000);
  EXPECT_GT(agreed.cut, 100);
  EXPECT_GT(agreed.dropped, 500);
}

TEST(ShortCut, FindsWhatTheGeneralWalkFindsInNoise) {
  const Agreed agreed = CountAgreements(test::FrameMix(50'000, true));
  EXPECT_GT(agreed.plain, 5'000);
  EXPECT_GT(agreed.cut, 1'000);
  EXPECT_GT(agreed.dropped, 5'000);
}

}  // namespace
}  // namespace rocescope
