// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/traffic.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr auto kWrites = static_cast<size_t>(OperationClass::kWrite);
constexpr auto kAcks = static_cast<size_t>(OperationClass::kAcknowledge);
constexpr auto kCnps = static_cast<size_t>(OperationClass::kCnp);

FlowKey FlowTo(uint32_t qpn) {
  return {.source = IpAddress::FromV4(1),
          .destination = IpAddress::FromV4(2),
          .destination_qpn = {qpn}};
}

// `packets` packets of a class, of 1000 octets of payload if they are WRITEs.
FlowRecord RecordOf(size_t operation, uint32_t packets, TapId tap = 0, uint8_t ttl = 64) {
  FlowRecord record{.flow = FlowTo(17), .tap = tap, .ttl = ttl, .packets = packets};
  record.class_packets[operation] = packets;
  record.bytes = 1100 * packets;
  if (operation == kWrites) {
    record.payload_bytes = 1000 * packets;
    record.messages = packets;
  }
  return record;
}

FlowSummary SummaryOf(std::initializer_list<FlowRecord> records) {
  TrafficTotals totals;
  for (const FlowRecord& record : records) totals.Add(record);
  const std::vector<FlowSummary> summaries = totals.Summaries();
  EXPECT_EQ(summaries.size(), 1u);
  return summaries.at(0);
}

TEST(TrafficTotals, KnowNothingAtFirst) { EXPECT_TRUE(TrafficTotals().Summaries().empty()); }

TEST(TrafficTotals, AddUpTheIntervalsOfAStream) {
  const FlowSummary summary = SummaryOf({RecordOf(kWrites, 3), RecordOf(kWrites, 4)});
  ASSERT_EQ(summary.streams.size(), 1u);
  EXPECT_EQ(summary.total.packets, 7u);
  EXPECT_EQ(summary.total.bytes, 7700u);
  EXPECT_EQ(summary.DataBytes(), 7000u);
  EXPECT_EQ(summary.ClassPackets(OperationClass::kWrite), 7u);
}

TEST(TrafficTotals, AddRequestsAndResponsesTogether) {
  FlowRecord record = RecordOf(kWrites, 1);
  record.requests = {.unseen = 1, .reordered = 2, .resent = 3, .restarts = 4};
  record.responses = {.unseen = 10, .reordered = 20, .resent = 30, .restarts = 40};
  const FlowCounts total = SummaryOf({record}).total;
  EXPECT_EQ(total.unseen, 11u);
  EXPECT_EQ(total.reordered, 22u);
  EXPECT_EQ(total.resent, 33u);
  EXPECT_EQ(total.restarts, 44u);
}

TEST(TrafficTotals, TakeControlOutOfTheDataBytes) {
  FlowRecord record = RecordOf(kWrites, 5);
  record.control_messages = 1;
  record.control_bytes = 64;
  EXPECT_EQ(SummaryOf({record}).DataBytes(), 4936u);
}

TEST(TrafficTotals, KeepTheExtremesOfRoundTrips) {
  FlowRecord first = RecordOf(kAcks, 2);
  first.ack_round_trip = {
      .count = 2, .sum = Duration(30), .minimum = Duration(10), .maximum = Duration(20)};
  FlowRecord second = RecordOf(kAcks, 1);
  second.ack_round_trip = {
      .count = 1, .sum = Duration(5), .minimum = Duration(5), .maximum = Duration(5)};
  const DurationSummary sum = SummaryOf({RecordOf(kAcks, 1), first, second}).total.ack_round_trip;
  EXPECT_EQ(sum.count, 3u);
  EXPECT_EQ(sum.sum, Duration(35));
  EXPECT_EQ(sum.minimum, Duration(5));
  EXPECT_EQ(sum.maximum, Duration(20));
}

TEST(TrafficTotals, SpanFromTheFirstSightToTheLast) {
  FlowRecord early = RecordOf(kWrites, 1);
  early.first_seen = FromNanoseconds(10);
  early.last_seen = FromNanoseconds(20);
  FlowRecord late = RecordOf(kWrites, 1);
  late.first_seen = FromNanoseconds(30);
  late.last_seen = FromNanoseconds(40);
  for (const FlowCounts& total : {SummaryOf({early, late}).total, SummaryOf({late, early}).total}) {
    EXPECT_EQ(total.first_seen, FromNanoseconds(10));
    EXPECT_EQ(total.last_seen, FromNanoseconds(40));
  }
}

TEST(TrafficTotals, CountEachPacketOnceHoweverManyTapsShowIt) {
  const FlowSummary summary =
      SummaryOf({RecordOf(kWrites, 100, 0), RecordOf(kWrites, 98, 1), RecordOf(kWrites, 100, 2)});
  EXPECT_EQ(summary.streams.size(), 3u);
  EXPECT_EQ(summary.total.packets, 100u);
  EXPECT_EQ(summary.DataBytes(), 100'000u);
}

TEST(TrafficTotals, CountEachPacketOnceHoweverManyHopsShowIt) {
  const FlowSummary summary =
      SummaryOf({RecordOf(kWrites, 100, 0, 64), RecordOf(kWrites, 100, 0, 63)});
  EXPECT_EQ(summary.total.packets, 100u);
}

TEST(TrafficTotals, TakeTheStreamThatShowsMostFirstCopies) {
  FlowRecord resent = RecordOf(kWrites, 120, 0);
  resent.requests.resent = 50;
  const FlowRecord clean = RecordOf(kWrites, 100, 1);
  EXPECT_EQ(SummaryOf({resent, clean}).total.packets, 100u);
}

TEST(TrafficTotals, AddPacketsThatANicSendsWithAnotherTtl) {
  const FlowSummary summary =
      SummaryOf({RecordOf(kWrites, 100, 0, 64), RecordOf(kCnps, 5, 0, 255)});
  EXPECT_EQ(summary.total.packets, 105u);
  EXPECT_EQ(summary.ClassPackets(OperationClass::kCnp), 5u);
  EXPECT_EQ(summary.DataBytes(), 100'000u);
}

TEST(TrafficTotals, DoNotAddThoseThatAnotherTapShows) {
  const FlowSummary summary =
      SummaryOf({RecordOf(kWrites, 100, 0, 64), RecordOf(kCnps, 5, 1, 255)});
  EXPECT_EQ(summary.total.packets, 100u);
}

TEST(TrafficTotals, AddARareKindsPacketsOnce) {
  const FlowSummary summary = SummaryOf(
      {RecordOf(kWrites, 100, 0, 64), RecordOf(kCnps, 5, 0, 255), RecordOf(kCnps, 5, 0, 254)});
  EXPECT_EQ(summary.ClassPackets(OperationClass::kCnp), 5u);
}

TEST(TrafficTotals, KnowOfTheSequenceThoughItsAcksHaveAnotherTtlAndAreMore) {
  FlowRecord data = RecordOf(kWrites, 3, 0, 63);
  data.began = true;
  data.last_rkey = 77;
  data.requests.restarts = 1;
  const FlowCounts total = SummaryOf({RecordOf(kAcks, 100, 0, 64), data}).total;
  EXPECT_TRUE(total.began);
  EXPECT_EQ(total.last_rkey, 77u);
  EXPECT_EQ(total.restarts, 1u);
  EXPECT_EQ(total.payload_bytes, 3000u);
}

TEST(TrafficTotals, TakeCreditsFromTheAcksWhateverTheirTtl) {
  FlowRecord acks = RecordOf(kAcks, 5, 0, 255);
  acks.last_credits = 12;
  EXPECT_EQ(SummaryOf({RecordOf(kWrites, 100), acks}).total.last_credits, 12);
}

TEST(TrafficTotals, TakeMarksFromWhereMostAreSeen) {
  FlowRecord before = RecordOf(kWrites, 100, 0);
  FlowRecord behind = RecordOf(kWrites, 90, 1);
  behind.ce_marked = 30;
  EXPECT_EQ(SummaryOf({before, behind}).total.ce_marked, 30u);
}

TEST(TrafficTotals, NoticeADscpThatChangesBetweenIntervals) {
  FlowRecord first = RecordOf(kWrites, 1);
  first.dscp = 26;
  FlowRecord second = first;
  EXPECT_FALSE(SummaryOf({first, second}).total.dscp_changed);
  second.dscp = 34;
  EXPECT_TRUE(SummaryOf({first, second}).total.dscp_changed);
}

TEST(TrafficTotals, ListFlowsByKeyAndStreamsByTap) {
  TrafficTotals totals;
  FlowRecord other = RecordOf(kWrites, 1);
  other.flow = FlowTo(16);
  totals.Add(RecordOf(kWrites, 1, 1, 63));
  totals.Add(RecordOf(kWrites, 1, 1, 64));
  totals.Add(RecordOf(kWrites, 1, 0));
  totals.Add(other);
  const std::vector<FlowSummary> summaries = totals.Summaries();
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].flow, FlowTo(16));
  ASSERT_EQ(summaries[1].streams.size(), 3u);
  EXPECT_EQ(summaries[1].streams[0].tap, 0);
  EXPECT_EQ(summaries[1].streams[1].ttl, 64);
  EXPECT_EQ(summaries[1].streams[2].ttl, 63);
}

}  // namespace
}  // namespace rocescope
