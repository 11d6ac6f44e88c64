// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/mbuf_time.h"

#include <gtest/gtest.h>

#include "dataplane/port/test_port.h"

namespace rocescope::test {
namespace {

constexpr int64_t kSecond = 1'750'000'000;
constexpr Timestamp kArrival = FromNanoseconds(kSecond * 1'000'000'000);

// Registers the field like a driver.
class MbufTime : public testing::Test {
 protected:
  MbufTime() {
    TestEal();
    int offset = 0;
    EXPECT_EQ(rte_mbuf_dyn_rx_timestamp_register(&offset, &flag_), 0);
    field_ = TimestampField::Find();
    EXPECT_EQ(field_.offset, offset);
    EXPECT_EQ(field_.flag, flag_);
  }

  Timestamp TimeOfStamp(uint64_t stamp, PortTime kind) {
    mbuf_.ol_flags = flag_;
    *RTE_MBUF_DYNFIELD(&mbuf_, field_.offset, rte_mbuf_timestamp_t*) = stamp;
    return TimeOf(mbuf_, field_, kind, clock_, kArrival);
  }

  rte_mbuf mbuf_{};
  uint64_t flag_ = 0;
  TimestampField field_;
  NicClock clock_;
};

TEST_F(MbufTime, IsArrivalTimeForPortWithoutTimestamps) {
  EXPECT_EQ(TimeOfStamp(1, PortTime::kArrival), kArrival);
}

TEST_F(MbufTime, IsArrivalTimeForFrameWithoutTimestamp) {
  TimeOfStamp(kSecond * 1'000'000, PortTime::kEpochMicroseconds);
  mbuf_.ol_flags = 0;
  EXPECT_EQ(TimeOf(mbuf_, field_, PortTime::kEpochMicroseconds, clock_, kArrival), kArrival);
  EXPECT_EQ(TimeOf(mbuf_, {}, PortTime::kEpochMicroseconds, clock_, kArrival), kArrival);
}

TEST_F(MbufTime, OfACaptureIsMicrosecondsSinceTheEpoch) {
  EXPECT_EQ(TimeOfStamp(kSecond * 1'000'000 + 7, PortTime::kEpochMicroseconds),
            kArrival + std::chrono::microseconds(7));
  EXPECT_EQ(TimeOfStamp(0, PortTime::kEpochMicroseconds), Timestamp{});
}

TEST_F(MbufTime, OfACaptureIsClamped) {
  const Timestamp last = TimeOfStamp(UINT64_MAX, PortTime::kEpochMicroseconds);
  EXPECT_LE(last, kLatestTime);
  EXPECT_GT(last, kLatestTime - std::chrono::microseconds(1));
}

TEST_F(MbufTime, OfANicUsesItsClock) {
  constexpr auto kUs = std::chrono::microseconds(1);
  clock_.Anchor(1'000, kArrival - 200'000 * kUs, kArrival - 200'000 * kUs);
  clock_.Anchor(201'000, kArrival, kArrival);  // one tick is a microsecond
  EXPECT_EQ(TimeOfStamp(200'990, PortTime::kNicClock), kArrival - 10 * kUs);
}

}  // namespace
}  // namespace rocescope::test
