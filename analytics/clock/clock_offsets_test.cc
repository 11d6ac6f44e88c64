// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/clock/clock_offsets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rocescope {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::SizeIs;

constexpr int64_t kBegin = 1'000'000'000;

// A chain of switches, each with a mirror and its own clock. A packet reaches the next switch after
// 600 ns plus its queueing delay.
class ClockOffsetsTest : public testing::Test {
 protected:
  void MakeSwitches(const std::vector<Duration>& offsets, const std::vector<double>& drifts = {}) {
    offsets_ = offsets;
    drifts_ = drifts;
    drifts_.resize(offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      clocks_.LearnTap({.tap = static_cast<TapId>(i),
                        .switch_address = IpAddress::FromV4(static_cast<uint32_t>(i + 1))});
    }
  }
  void Sees(size_t at, uint32_t psn, uint8_t ttl, int64_t ns, RecordBatch& batch) const {
    ObservationRecord record;
    record.flow.destination_qpn = {7};
    record.tap = static_cast<TapId>(at);
    record.ttl = ttl;
    record.psn = psn;
    const auto drift = static_cast<int64_t>(drifts_[at] * 1e-9 * static_cast<double>(ns));
    record.event_time = FromNanoseconds(kBegin + ns + drift) + offsets_[at];
    record.arrival_time = FromNanoseconds(kBegin + ns + 5000);
    batch.sightings.push_back(record);
  }
  // Sends `packets` packets in one direction over all switches within this time.
  void Travel(bool there, int packets, Duration time, int64_t least_wait = 0) {
    RecordBatch batch;
    for (int i = 0; i < packets; ++i) {
      int64_t ns = time.count() / packets * i;
      ++psn_;
      for (size_t hop = 0; hop < offsets_.size(); ++hop) {
        const size_t at = there ? hop : offsets_.size() - 1 - hop;
        Sees(at, psn_, static_cast<uint8_t>(64 - hop), ns, batch);
        ns += 600 + least_wait + static_cast<int64_t>(random_() % 3000);
      }
    }
    clocks_.Add(batch);
  }
  // Whether the true offsets are within the bounds, and the bounds are not too wide.
  void ExpectTruth(const ClockAnswer& answer) const {
    ASSERT_THAT(answer.clocks, SizeIs(offsets_.size()));
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const ClockOffset& clock = answer.clocks[i];
      EXPECT_EQ(clock.reference, i == 0);
      if (i == 0) continue;
      ASSERT_TRUE(clock.offset) << i;
      const Duration error = clock.offset.value_or(Duration(0)) - (offsets_[i] - offsets_[0]);
      EXPECT_LE(std::abs(error.count()), clock.uncertainty.count()) << i;
      EXPECT_LE(clock.uncertainty.count(), 1000 * static_cast<int64_t>(i)) << i;
    }
  }

  std::vector<Duration> offsets_;
  std::vector<double> drifts_;  // parts per billion
  uint32_t psn_ = 0;
  std::minstd_rand random_{1};
  ClockOffsets clocks_;
};

TEST_F(ClockOffsetsTest, AreDerivedFromPacketsInBothDirections) {
  MakeSwitches({nanoseconds(0), nanoseconds(40'000), nanoseconds(-25'000)});
  Travel(true, 500, milliseconds(5));
  Travel(false, 500, milliseconds(5));
  const ClockAnswer answer = clocks_.Answer();
  ExpectTruth(answer);
  EXPECT_EQ(answer.clocks[0].name, "0.0.0.1");
  EXPECT_EQ(answer.contradictions, 0u);
  EXPECT_FALSE(answer.clocks[1].drift_ppb);
}

TEST_F(ClockOffsetsTest, AreUnknownFromOneDirection) {
  MakeSwitches({nanoseconds(0), nanoseconds(40'000)});
  Travel(true, 500, milliseconds(5));
  const ClockAnswer answer = clocks_.Answer();
  ASSERT_THAT(answer.clocks, SizeIs(2));
  EXPECT_FALSE(answer.clocks[1].offset);
  EXPECT_NE(answer.clocks[0].group, answer.clocks[1].group);
}

// The error of an estimate is half of the asymmetry, which is within the bound.
TEST_F(ClockOffsetsTest, UncertaintyCoversAsymmetricQueueing) {
  MakeSwitches({nanoseconds(0), nanoseconds(40'000)});
  Travel(true, 500, milliseconds(5), 8000);
  Travel(false, 500, milliseconds(5));
  const ClockOffset clock = clocks_.Answer().clocks[1];
  ASSERT_TRUE(clock.offset);
  EXPECT_NEAR(
      static_cast<double>((clock.offset.value_or(Duration(0)) - nanoseconds(40'000)).count()), 4000,
      300);
  EXPECT_GE(clock.uncertainty, nanoseconds(4000));
}

TEST_F(ClockOffsetsTest, IgnoreRetransmittedPackets) {
  MakeSwitches({nanoseconds(0), nanoseconds(40'000)});
  Travel(true, 500, milliseconds(5));
  Travel(false, 500, milliseconds(5));
  // Each packet is first observed downstream and then, after a retransmission, upstream.
  RecordBatch batch;
  for (uint32_t i = 0; i < 2; ++i) {
    Sees(1, 90'000 + i, 63, 100'000, batch);
    Sees(0, 90'000 + i, 64, 900'000, batch);
  }
  clocks_.Add(batch);
  ExpectTruth(clocks_.Answer());
}

// Between the first two switches, delays are negative in both directions.
TEST_F(ClockOffsetsTest, ContradictionsAffectOnlyTheirGroup) {
  MakeSwitches({nanoseconds(0), nanoseconds(0), nanoseconds(0), nanoseconds(40'000)});
  RecordBatch batch;
  for (uint32_t psn = 0; psn < 40; ++psn) {
    const bool there = psn % 2 == 0;
    const int64_t ns = psn * 10'000;
    Sees(there ? 0 : 1, psn, 64, ns + 700, batch);
    Sees(there ? 1 : 0, psn, 63, ns, batch);
    Sees(there ? 2 : 3, 1000 + psn, 64, ns, batch);
    Sees(there ? 3 : 2, 1000 + psn, 63, ns + 700, batch);
  }
  clocks_.Add(batch);
  const ClockAnswer answer = clocks_.Answer();
  ASSERT_THAT(answer.clocks, SizeIs(4));
  EXPECT_FALSE(answer.clocks[0].offset || answer.clocks[1].offset);
  EXPECT_NE(answer.clocks[0].group, answer.clocks[1].group);
  EXPECT_EQ(answer.clocks[3].offset, nanoseconds(40'000));
  EXPECT_EQ(answer.clocks[2].group, answer.clocks[3].group);
  EXPECT_GT(answer.contradictions, 0u);
}

TEST(ClockCapacity, ExcessClocksAreRefusedAndCounted) {
  ClockOffsets clocks({.clocks = 2});
  RecordBatch batch;
  for (uint32_t node = 1; node <= 5; ++node) {
    HopRecord record;
    record.packet = {.known = true, .ttl = 60};
    record.node_id = node;
    record.event_time = record.arrival_time = FromNanoseconds(kBegin);
    record.event_time_told = true;
    batch.hops.push_back(record);
  }
  clocks.Add(batch);
  EXPECT_THAT(clocks.Answer().clocks, SizeIs(2));
  EXPECT_EQ(clocks.Answer().pairs_refused, 3u);
  EXPECT_EQ(clocks.OfIntNode(5), Duration(0));
}

// 50 ppm for 80 ms: 4 us.
TEST_F(ClockOffsetsTest, DriftIsReportedIfCertain) {
  MakeSwitches({nanoseconds(0), nanoseconds(40'000)}, {0, 50'000});
  Travel(true, 20'000, milliseconds(80));
  Travel(false, 20'000, milliseconds(80));
  const ClockOffset clock = clocks_.Answer().clocks[1];
  ASSERT_TRUE(clock.drift_ppb);
  EXPECT_NEAR(clock.drift_ppb.value_or(0), 50'000, 15'000);
}

TEST_F(ClockOffsetsTest, CorrectionsAreZeroBeforeSettle) {
  MakeSwitches({nanoseconds(0), nanoseconds(40'000)});
  Travel(true, 500, milliseconds(5));
  Travel(false, 500, milliseconds(5));
  EXPECT_EQ(clocks_.OfTap(1), Duration(0));
  clocks_.Settle();
  EXPECT_NEAR(static_cast<double>(clocks_.OfTap(1).count()), 40'000, 1000);
  EXPECT_EQ(clocks_.OfTap(0), Duration(0));
  EXPECT_EQ(clocks_.OfTap(99), Duration(0));
}

TEST_F(ClockOffsetsTest, PostcardsRelateIntClocks) {
  RecordBatch batch;
  const std::array<int64_t, 2> offsets = {0, -30'000};
  for (uint32_t i = 0; i < 200; ++i) {
    const bool there = i % 2 == 0;
    for (uint32_t hop = 0; hop < 2; ++hop) {
      const uint32_t node = there ? hop : 1 - hop;
      HopRecord record;
      record.packet = {.known = true, .ttl = static_cast<uint8_t>(63 - hop), .psn = i};
      record.node_id = node + 1;
      record.event_time = FromNanoseconds(kBegin + i * 10'000 + hop * 700 + offsets[node]);
      record.arrival_time = FromNanoseconds(kBegin + i * 10'000 + 5000);
      record.event_time_told = true;
      batch.hops.push_back(record);
    }
  }
  clocks_.Add(batch);
  const ClockAnswer answer = clocks_.Answer();
  ASSERT_THAT(answer.clocks, SizeIs(2));
  EXPECT_EQ(answer.clocks[1].kind, StampKind::kInt);
  EXPECT_EQ(answer.clocks[1].offset, nanoseconds(-30'000));
  EXPECT_EQ(answer.clocks[1].uncertainty, nanoseconds(700));
}

}  // namespace
}  // namespace rocescope
