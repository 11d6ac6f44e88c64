// SPDX-License-Identifier: BSD-3-Clause
// Time from a request that asks for an ACK to the ACK, at one tap.
#include <gtest/gtest.h>

#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

constexpr uint32_t kBackQpn = 33;

// Requests at intervals of 1 ms, acknowledged after 10, 20, 30, ... µs.
void Answer(FlowFeeder& feeder, int count, TapId request_tap = 0, TapId ack_tap = 0) {
  for (int i = 0; i < count; ++i) {
    const auto psn = static_cast<uint32_t>(i);
    feeder.Feed(WriteOf(psn, 4, {}, 1, true), i * kMillisecond, request_tap);
    feeder.Feed(AckOf(psn), i * kMillisecond + (i + 1) * 10 * kMicrosecond, ack_tap);
  }
}

TEST(AckRoundTrip, IsMeasuredAfterASecondAckConfirmsThePeer) {
  FlowFeeder feeder;
  Answer(feeder, 5);
  const DurationSummary round_trip = feeder.RecordOf(kBackQpn).ack_round_trip;
  EXPECT_EQ(round_trip.count, 4u);  // 20, 30, 40 and 50 µs
  EXPECT_EQ(round_trip.sum, std::chrono::microseconds(140));
  EXPECT_EQ(round_trip.minimum, std::chrono::microseconds(20));
  EXPECT_EQ(round_trip.maximum, std::chrono::microseconds(50));
}

TEST(AckRoundTrip, IsNotRecordedOnTheRequestsFlow) {
  FlowFeeder feeder;
  Answer(feeder, 5);
  EXPECT_EQ(feeder.RecordOf(17).ack_round_trip.count, 0u);
}

TEST(AckRoundTrip, IsNotMeasuredAcrossTaps) {
  FlowFeeder feeder;
  Answer(feeder, 5, 0, 1);
  EXPECT_EQ(feeder.RecordOf(kBackQpn).ack_round_trip.count, 0u);
}

TEST(AckRoundTrip, RequiresAckRequest) {
  FlowFeeder feeder;
  for (uint32_t psn = 0; psn < 5; ++psn) feeder.Feed(WriteOf(psn, 4)).Feed(AckOf(psn));
  EXPECT_EQ(feeder.RecordOf(kBackQpn).ack_round_trip.count, 0u);
}

TEST(AckRoundTrip, EndsWithTheFirstAck) {
  FlowFeeder feeder;
  Answer(feeder, 3);
  for (int i = 0; i < 3; ++i) feeder.Feed(AckOf(2), 5 * kMillisecond);
  EXPECT_EQ(feeder.RecordOf(kBackQpn).ack_round_trip.count, 2u);
}

TEST(AckRoundTrip, IgnoresOtherHostPairs) {
  FlowFeeder feeder;
  const Route elsewhere{.source = "10.0.0.9", .destination = "10.0.0.1", .qpn = 44};
  for (uint32_t psn = 0; psn < 5; ++psn) {
    feeder.Feed(WriteOf(psn, 4, {}, 1, true)).Feed(AckOf(psn, 0x1f, elsewhere));
  }
  EXPECT_EQ(feeder.RecordOf(44).ack_round_trip.count, 0u);
}

// Two queue pairs of a host pair use the same PSNs, but this flow acknowledges only one of them.
TEST(AckRoundTrip, UsesTheFlowThatMatchesRepeatedly) {
  FlowFeeder feeder;
  Answer(feeder, 3);
  feeder.Feed(WriteOf(3, 4, {.qpn = 18}, 1, true), 3 * kMillisecond);
  feeder.Feed(AckOf(3), 9 * kMillisecond);
  EXPECT_EQ(feeder.RecordOf(kBackQpn).ack_round_trip.count, 2u);
  EXPECT_EQ(feeder.RecordOf(kBackQpn).ack_round_trip.maximum, std::chrono::microseconds(30));
}

}  // namespace
}  // namespace rocescope::test
