// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "dataplane/decode/frame.h"

namespace rocescope {
namespace {

using wire::ErspanGranularity;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTwoTo32 = 4'294'967'296;

TEST(MirrorTime, UsesUnitOfGranularity) {
  const auto at_ten = [](ErspanGranularity granularity) {
    return TimeOf({.has_timestamp = true, .granularity = granularity, .timestamp = 10});
  };
  EXPECT_EQ(at_ten(ErspanGranularity::k100Microseconds)->nanoseconds, 1'000'000);
  EXPECT_EQ(at_ten(ErspanGranularity::k100Nanoseconds)->nanoseconds, 1000);
  EXPECT_EQ(at_ten(ErspanGranularity::kIeee1588)->nanoseconds, 10);
  EXPECT_FALSE(at_ten(ErspanGranularity::kUserDefined).has_value());
}

TEST(MirrorTime, IsAbsentWithoutATimestamp) { EXPECT_FALSE(TimeOf({}).has_value()); }

// 2^32 units of 100 ns are 429 s.
TEST(MirrorTime, WrapsAfter429SecondsAt100Nanoseconds) {
  const auto time =
      TimeOf({.has_timestamp = true, .granularity = ErspanGranularity::k100Nanoseconds});
  EXPECT_EQ(time->wrap, kTwoTo32 * 100);
  EXPECT_EQ(time->wrap / kSecond, 429);
}

// The nanoseconds of an IEEE 1588 TimeRepresentation stay below 10^9.
TEST(MirrorTime, WrapsEachSecondWithoutTheSecondsOfIeee1588) {
  const auto time = TimeOf({.has_timestamp = true,
                            .granularity = ErspanGranularity::kIeee1588,
                            .timestamp = 999'999'990});
  EXPECT_EQ(Unwrap(*time, FromNanoseconds(7 * kSecond + 5)), FromNanoseconds(7 * kSecond - 10));
}

TEST(MirrorTime, DoesNotWrapWithSeconds) {
  const auto time = TimeOf({.has_timestamp = true,
                            .has_seconds = true,
                            .granularity = ErspanGranularity::kIeee1588,
                            .timestamp = 999'999'999,
                            .timestamp_upper = 1'700'000'000});
  EXPECT_EQ(time->nanoseconds, 1'700'000'000'999'999'999);
  EXPECT_EQ(time->wrap, 0);
  EXPECT_EQ(Unwrap(*time, FromNanoseconds(5)), FromNanoseconds(1'700'000'000'999'999'999));
}

TEST(MirrorTime, DoesNotWrapWithUpperHalf) {
  const auto time = TimeOf({.has_timestamp = true,
                            .has_upper_timestamp = true,
                            .granularity = ErspanGranularity::k100Nanoseconds,
                            .timestamp = 5,
                            .timestamp_upper = 3});
  EXPECT_EQ(time->nanoseconds, (3 * kTwoTo32 + 5) * 100);
  EXPECT_EQ(time->wrap, 0);
}

TEST(MirrorTime, UnwrapsToTheValueNearestToTheArrival) {
  const MirrorTime time = {.nanoseconds = 70, .wrap = 100};
  EXPECT_EQ(Unwrap(time, FromNanoseconds(1000)), FromNanoseconds(970));
  EXPECT_EQ(Unwrap(time, FromNanoseconds(1065)), FromNanoseconds(1070));
  EXPECT_EQ(Unwrap(time, FromNanoseconds(1119)), FromNanoseconds(1070));
  EXPECT_EQ(Unwrap(time, FromNanoseconds(1121)), FromNanoseconds(1170));
  EXPECT_EQ(Unwrap(time, FromNanoseconds(10)), FromNanoseconds(-30));
}

}  // namespace
}  // namespace rocescope
