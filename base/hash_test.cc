// SPDX-License-Identifier: BSD-3-Clause
#include "base/hash.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ull;

// The first outputs of SplitMix64 from seed 1234567, as rosettacode.org/wiki/Pseudo-random_numbers/
// Splitmix64 lists them.
TEST(HashTest, Mix64IsSplitMix64Finaliser) {
  EXPECT_EQ(Mix64(1234567 + kGamma), 6457827717110365317u);
  EXPECT_EQ(Mix64(1234567 + 2 * kGamma), 3203168211198807973u);
  EXPECT_EQ(Mix64(1234567 + 3 * kGamma), 9817491932198370423u);
}

TEST(HashTest, CombiningZeroIsOneSplitMix64Step) {
  EXPECT_EQ(HashCombine(1234567, 0), 6457827717110365317u);
}

// Appliances of different versions must select the same packets. The expected values come from an
// independent program that uses arbitrary-size integers reduced modulo 2^64:
//   p = (high ^ gamma) * (low ^ 0xd6e8feb86659fd93) with 128 bits,
//   fold = (p ^ p >> 64) + high + low,
//   pair = the finaliser of (fold a + fold b + value * gamma).
TEST(HashTest, HashValuesAreStable) {
  const IpAddress v4_a = IpAddress::FromV4(0x0a000001);
  const IpAddress v4_b = IpAddress::FromV4(0x0a000002);
  const IpAddress v6_a{.high = 0x20010db800000000, .low = 1};
  const IpAddress v6_b{.high = 0xfd00000000000000, .low = 0x000a000b};

  EXPECT_EQ(FoldAddress(v4_a), 0xbf9e2878923fa47du);
  EXPECT_EQ(FoldAddress(v4_b), 0x19c5b23e13492862u);
  EXPECT_EQ(FoldAddress(v6_a), 0x21314239da6588d3u);
  EXPECT_EQ(FoldAddress(v6_b), 0xcf8c3c212b82bdf1u);
  EXPECT_EQ(HashUnorderedPair(v4_a, v4_b, 0x123456), 0xe35c694a6f669197u);
  EXPECT_EQ(HashUnorderedPair(v6_a, v6_b, 0x123456), 0x38e836eaddfbf03du);
}

// Test vectors of draft-eastlake-fnv, appendix C.
TEST(HashTest, TextHashIsFnv1a) {
  EXPECT_EQ(HashText(""), 0xcbf29ce484222325u);
  EXPECT_EQ(HashText("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(HashText("foobar"), 0x85944171f73967e8u);
}

TEST(HashTest, BothDirectionsOfAHostPairHaveTheSameHash) {
  const IpAddress a = IpAddress::FromV4(0x0a000001);
  const IpAddress b{.high = 0x20010db800000000, .low = 7};

  EXPECT_EQ(HashUnorderedPair(a, b, 5), HashUnorderedPair(b, a, 5));
}

TEST(HashTest, HashDependsOnPairAndValue) {
  const IpAddress a = IpAddress::FromV4(0x0a000001);
  const IpAddress b = IpAddress::FromV4(0x0a000002);
  const IpAddress c = IpAddress::FromV4(0x0a000003);

  EXPECT_NE(HashUnorderedPair(a, b, 5), HashUnorderedPair(a, c, 5));
  EXPECT_NE(HashUnorderedPair(a, b, 5), HashUnorderedPair(a, b, 6));
  EXPECT_NE(HashUnorderedPair(a, a, 5), HashUnorderedPair(b, b, 5));
}

// The rule selects packets whose hash is below 2^-k of the range. Over 2^16 consecutive PSNs of one
// pair, the number below 2^-4 is binomial: 4096 expected, standard deviation 62.
TEST(HashTest, ConsecutivePsnsAreSelectedUniformly) {
  const IpAddress a = IpAddress::FromV4(0x0a000001);
  const IpAddress b = IpAddress::FromV4(0x0a000002);

  int chosen = 0;
  for (uint64_t psn = 0; psn < 65536; ++psn) chosen += HashUnorderedPair(a, b, psn) >> 60 == 0;

  EXPECT_NEAR(chosen, 4096, 5 * 62);
}

TEST(HashTest, ConsecutiveAddressesAreSelectedUniformly) {
  int chosen = 0;
  for (uint32_t i = 0; i < 256; ++i) {
    for (uint32_t j = 0; j < 256; ++j) {
      const IpAddress source = IpAddress::FromV4(0x0a000000 + i);
      const IpAddress destination = IpAddress::FromV4(0x0a010000 + j);
      chosen += HashUnorderedPair(source, destination, 7) >> 60 == 0;
    }
  }

  EXPECT_NEAR(chosen, 4096, 5 * 62);
}

}  // namespace
}  // namespace rocescope
