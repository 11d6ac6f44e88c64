// SPDX-License-Identifier: BSD-3-Clause
// When records are emitted: intervals by event time, aligned to the epoch; idle flows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

constexpr Duration kWidth = std::chrono::milliseconds(100);

FlowTable::Options Options() { return {.capacity = 64, .interval = kWidth}; }
Timestamp At(int64_t after_start_ns) { return FromNanoseconds(kStart + after_start_ns); }

TEST(FlowInterval, IsAlignedToTheEpoch) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 250 * kMillisecond);
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.interval_start, At(200 * kMillisecond));
  EXPECT_EQ(record.interval_width, kWidth);
  EXPECT_EQ(record.first_seen, At(250 * kMillisecond));
  EXPECT_EQ(record.last_seen, At(250 * kMillisecond));
}

TEST(FlowInterval, EndsWithAPacketAfterItsEnd) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(1, 4), 100 * kMillisecond - 1);
  EXPECT_TRUE(feeder.out().flows.empty());
  feeder.Feed(WriteOf(2, 4), 100 * kMillisecond);
  ASSERT_EQ(feeder.out().flows.size(), 1u);
  EXPECT_EQ(feeder.out().flows[0].packets, 2u);
  EXPECT_EQ(feeder.out().flows[0].last_seen, At(100 * kMillisecond - 1));
}

TEST(FlowInterval, EndsWithAPacketOfAnotherFlow) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(0, 4, {.qpn = 18}), 100 * kMillisecond);
  ASSERT_EQ(feeder.out().flows.size(), 1u);
  EXPECT_EQ(feeder.out().flows[0].flow.destination_qpn.value, 17u);
}

TEST(FlowInterval, SkipsEmptyIntervals) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(1, 4), 3050 * kMillisecond);
  ASSERT_EQ(feeder.Records().size(), 2u);
  EXPECT_EQ(feeder.out().flows[1].interval_start, At(3000 * kMillisecond));
}

TEST(FlowInterval, EndsWhenTimeAdvancesToItsEnd) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0);
  feeder.table().Advance(At(100 * kMillisecond - 1), feeder.out());
  EXPECT_TRUE(feeder.out().flows.empty());
  feeder.table().Advance(At(100 * kMillisecond), feeder.out());
  EXPECT_EQ(feeder.out().flows.size(), 1u);
}

TEST(FlowInterval, EmitsNoRecordForIdleFlows) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0);
  feeder.table().Advance(At(kSecond), feeder.out());
  feeder.table().Advance(At(2 * kSecond), feeder.out());
  EXPECT_EQ(feeder.Records().size(), 1u);
}

TEST(FlowInterval, IsEmittedOnceOnRepeatedFlush) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0);
  feeder.table().Flush(feeder.out());
  feeder.table().Flush(feeder.out());
  EXPECT_EQ(feeder.out().flows.size(), 1u);
}

TEST(FlowInterval, ClearsCountersAndKeepsSequence) {
  FlowFeeder feeder(Options());
  const Route marked{.ip = {.ecn = 3}};
  feeder.Feed(WriteOf(0, 100, marked), 0)
      .Feed(WriteOf(5, 100, marked), 1)
      .Feed(AckOf(0, 0x60, marked), 2)
      .Feed(WriteOf(7, 100), 100 * kMillisecond);
  const FlowRecord record = feeder.Records().back();
  EXPECT_EQ(record.packets, 1u);
  EXPECT_EQ(record.bytes, 174u);
  EXPECT_EQ(record.payload_bytes, 100u);
  EXPECT_EQ(record.messages, 1u);
  EXPECT_EQ(record.ce_marked, 0u);
  EXPECT_EQ(record.naks[static_cast<size_t>(NakKind::kSequenceError)], 0u);
  EXPECT_EQ(record.requests.missing, 1);  // PSN 6 only
  EXPECT_EQ(record.first_request_psn, 7u);
  EXPECT_FALSE(record.began);
}

TEST(FlowInterval, AccountsLatePacketInOpenInterval) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(1, 4), 0).Feed(WriteOf(0, 4), -5 * kMillisecond);
  EXPECT_EQ(feeder.table().statistics().late_packets, 1u);
  EXPECT_EQ(feeder.Record().packets, 2u);
  EXPECT_EQ(feeder.out().flows[0].interval_start, At(0));
}

// A gap at the end of an interval that is filled at the beginning of the next one.
TEST(FlowInterval, SumOfMissingPacketsIsIndependentOfWidth) {
  for (const auto width : {std::chrono::milliseconds(1), std::chrono::milliseconds(1000)}) {
    FlowFeeder feeder({.capacity = 64, .interval = width});
    feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(2, 4), 1).Feed(WriteOf(1, 4), 2 * kMillisecond);
    int64_t missing = 0;
    for (const FlowRecord& record : feeder.Records()) missing += record.requests.missing;
    EXPECT_EQ(missing, 0);
  }
}

TEST(FlowInterval, RecoversFromATimestampInTheFarFuture) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(1, 4), 3'000'000 * kSecond);
  for (uint32_t i = 2; i < 1000; ++i) feeder.Feed(WriteOf(i, 4), i * kMillisecond);
  EXPECT_EQ(feeder.table().statistics().late_packets, 64u);
  uint64_t packets = 0;
  for (const FlowRecord& record : feeder.Records()) packets += record.packets;
  EXPECT_EQ(packets, 1000u);
  EXPECT_EQ(feeder.out().flows.back().interval_start, At(900 * kMillisecond));
}

TEST(FlowInterval, DoesNotAlternateBetweenTwoClocks) {
  FlowFeeder feeder(Options());
  for (uint32_t i = 0; i < 1000; ++i) {
    feeder.Feed(WriteOf(i, 4), i % 2 == 0 ? i * kMicrosecond : 3600 * kSecond + i * kMicrosecond);
  }
  // 500 packets that are far too late, 64 per interval.
  EXPECT_LE(feeder.Records().size(), 2 * 500u / 64 + 2);
}

TEST(FlowInterval, EmitsASecondRecordWhenASmallCounterIsFull) {
  FlowFeeder feeder(Options());
  constexpr uint32_t kMessages = 150'000;
  for (uint32_t i = 0; i < kMessages; ++i) feeder.Feed(WriteOf(i, 4));
  EXPECT_EQ(feeder.Records().size(), 3u);  // 65,535 each, and the remaining packets
  uint64_t messages = 0, sizes = 0, packets = 0;
  for (const FlowRecord& record : feeder.out().flows) {
    messages += record.messages;
    packets += record.packets;
    for (const uint32_t count : record.message_sizes) sizes += count;
  }
  EXPECT_EQ(messages, kMessages);
  EXPECT_EQ(packets, kMessages);
  EXPECT_EQ(sizes, kMessages);
}

TEST(FlowInterval, EmitsNoEmptyRecordAfterAFullCounter) {
  FlowFeeder feeder(Options());
  for (uint32_t i = 0; i < 65535; ++i) feeder.Feed(WriteOf(i, 4));
  ASSERT_EQ(feeder.Records().size(), 1u);
  feeder.Feed(WriteOf(65535, 4), 200 * kMillisecond);
  ASSERT_EQ(feeder.Records().size(), 2u);
  EXPECT_EQ(feeder.out().flows[1].packets, 1u);
}

TEST(FlowInterval, FirstSeenIsNeverAfterLastSeen) {
  FlowFeeder feeder(Options());
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(0, 4, {.qpn = 18}), -5 * kMillisecond);
  const FlowRecord record = feeder.RecordOf(18);
  EXPECT_LE(record.first_seen, record.last_seen);
}

FlowTable::Options Steady(uint32_t capacity = 256) {
  return {.capacity = capacity, .interval = kWidth, .steady = true};
}

TEST(SteadyFlowInterval, EmitsAFewRecordsWithEachPacketOfTheNextInterval) {
  constexpr uint32_t kFlows = 100;
  FlowFeeder feeder(Steady());
  for (uint32_t i = 0; i < kFlows; ++i) feeder.Feed(WriteOf(0, 4, {.qpn = 100 + i}));
  size_t told = 0;
  for (uint32_t i = 0; i < kFlows; ++i) {
    feeder.Feed(WriteOf(i, 4, {.qpn = 99}), 100 * kMillisecond + i);
    EXPECT_LE(feeder.out().flows.size() - told, 2u);
    told = feeder.out().flows.size();
  }
  EXPECT_EQ(told, kFlows);
}

TEST(SteadyFlowInterval, EmitsRecordBeforeNextPacketOfTheFlowCounts) {
  FlowFeeder feeder(Steady());
  for (uint32_t i = 0; i < 100; ++i) feeder.Feed(WriteOf(0, 4, {.qpn = 100 + i}));
  feeder.Feed(WriteOf(1, 60, {.qpn = 180}), 100 * kMillisecond);
  ASSERT_FALSE(feeder.out().flows.empty());
  const FlowRecord& first = feeder.out().flows.front();
  EXPECT_EQ(first.flow.destination_qpn.value, 180u);
  EXPECT_EQ(first.interval_start, At(0));
  EXPECT_EQ(first.payload_bytes, 4u);
  EXPECT_EQ(feeder.Records().back().payload_bytes, 60u);
  EXPECT_EQ(feeder.out().flows.back().interval_start, At(100 * kMillisecond));
}

TEST(SteadyFlowInterval, IsFullyEmittedWhenTheNextIntervalEnds) {
  FlowFeeder feeder(Steady());
  for (uint32_t i = 0; i < 100; ++i) feeder.Feed(WriteOf(0, 4, {.qpn = 100 + i}));
  feeder.Feed(WriteOf(0, 4, {.qpn = 99}), 100 * kMillisecond);
  feeder.Feed(WriteOf(1, 4, {.qpn = 99}), 200 * kMillisecond);
  EXPECT_GE(feeder.out().flows.size(), 100u);
}

TEST(SteadyFlowInterval, IsEmittedWithoutFurtherPackets) {
  FlowFeeder feeder(Steady());
  for (uint32_t i = 0; i < 100; ++i) feeder.Feed(WriteOf(0, 4, {.qpn = 100 + i}));
  feeder.Feed(WriteOf(0, 4, {.qpn = 99}), 100 * kMillisecond);
  EXPECT_LT(feeder.out().flows.size(), 100u);
  feeder.table().Advance(At(50 * kMillisecond), feeder.out());
  EXPECT_EQ(feeder.out().flows.size(), 100u);
}

std::vector<std::string> Sorted(const std::vector<FlowRecord>& records) {
  std::vector<std::string> lines;
  for (const FlowRecord& record : records) {
    lines.push_back(fmt::format("{} {} {} {} {} {} {} {} {} {}", record.flow.destination_qpn.value,
                                record.tap, ToNanoseconds(record.interval_start),
                                ToNanoseconds(record.first_seen), ToNanoseconds(record.last_seen),
                                record.packets, record.bytes, record.requests.missing,
                                record.requests.last_psn, record.first_request_psn));
  }
  std::ranges::sort(lines);
  return lines;
}

// Some of the tables are too small, so that flows are evicted; some packets are late.
TEST(SteadyFlowInterval, EmitsTheSameRecordsAsANonSteadyTable) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    FlowTable::Options options = Steady(seed % 2 == 0 ? 256 : 40);
    FlowFeeder steady(options);
    options.steady = false;
    FlowFeeder at_once(options);
    int64_t now = 0;
    for (uint32_t i = 0; i < 3000; ++i) {
      now += static_cast<int64_t>(random() % (random() % 100 == 0 ? 500 : 5)) * kMillisecond;
      const int64_t late = random() % 50 == 0 ? 20 * kMillisecond : 0;
      const auto qpn = static_cast<uint32_t>(100 + random() % 60);
      const Frame frame = WriteOf(i, random() % 100, {.qpn = qpn});
      steady.Feed(frame, now - late);
      at_once.Feed(frame, now - late);
    }
    EXPECT_EQ(Sorted(steady.Records()), Sorted(at_once.Records()));
    EXPECT_EQ(steady.table().statistics().flows_evicted,
              at_once.table().statistics().flows_evicted);
  }
}

TEST(FlowExpiry, ExpiresFlowsAfterIdleTimeout) {
  FlowFeeder feeder({.capacity = 64, .interval = kWidth, .idle_timeout = std::chrono::seconds(1)});
  feeder.Feed(WriteOf(0, 4), 0);
  const auto keep_busy = [&](int64_t from_ms, int64_t to_ms) {
    for (int64_t ms = from_ms; ms <= to_ms; ms += 100) {
      feeder.Feed(WriteOf(0, 4, {.qpn = 18}), ms * kMillisecond);
    }
  };
  keep_busy(0, 1000);
  EXPECT_EQ(feeder.table().size(), 2u);
  keep_busy(1100, 3000);  // a sixteenth of the table is checked per interval
  EXPECT_EQ(feeder.table().size(), 1u);
  EXPECT_EQ(feeder.table().statistics().flows_expired, 1u);
}

TEST(FlowExpiry, FreesEntriesForNewFlows) {
  FlowFeeder feeder(
      {.capacity = 2, .interval = kWidth, .idle_timeout = std::chrono::milliseconds(100)});
  for (uint32_t i = 0; i < 100; ++i) {
    feeder.Feed(WriteOf(0, 4, {.qpn = 100 + i}), i * kSecond);
    feeder.table().Advance(At(i * kSecond + 400 * kMillisecond), feeder.out());
    feeder.table().Advance(At(i * kSecond + 600 * kMillisecond), feeder.out());
  }
  EXPECT_EQ(feeder.Records().size(), 100u);
  EXPECT_EQ(feeder.table().statistics().flows_evicted, 0u);
}

}  // namespace
}  // namespace rocescope::test
