// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/traffic.h"

#include <gtest/gtest.h>

#include <vector>

#include "analytics/flow/with_own_flows.h"

namespace rocescope {
namespace {

using TestTotals = WithOwnFlows<TrafficTotals>;

constexpr auto kWrites = static_cast<size_t>(OperationClass::kWrite);
constexpr auto kAcks = static_cast<size_t>(OperationClass::kAcknowledge);
constexpr auto kCnps = static_cast<size_t>(OperationClass::kCnp);

FlowKey FlowTo(uint32_t qpn) {
  return {.source = IpAddress::FromV4(1),
          .destination = IpAddress::FromV4(2),
          .destination_qpn = {qpn}};
}

// `packets` packets of a class, with 1000 bytes of payload if they are WRITEs.
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

FlowSummary SummaryOf(const std::vector<FlowRecord>& records) {
  TestTotals totals;
  for (const FlowRecord& record : records) totals.Add(record);
  const FlowSummaries summaries = *totals.Summaries();
  EXPECT_EQ(summaries.size(), 1u);
  return summaries.at(0);
}

TEST(TrafficTotals, AreEmptyAtFirst) { EXPECT_TRUE(TestTotals().Summaries()->empty()); }

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
  record.requests = {.missing = 1, .reordered = 2, .retransmitted = 3, .restarts = 4};
  record.responses = {.missing = 10, .reordered = 20, .retransmitted = 30, .restarts = 40};
  const FlowCounts total = SummaryOf({record}).total;
  EXPECT_EQ(total.missing, 11u);
  EXPECT_EQ(total.reordered, 22u);
  EXPECT_EQ(total.retransmitted, 33u);
  EXPECT_EQ(total.restarts, 44u);
}

TEST(TrafficTotals, ExcludeControlFromDataBytes) {
  FlowRecord record = RecordOf(kWrites, 5);
  record.control_messages = 1;
  record.control_bytes = 64;
  EXPECT_EQ(SummaryOf({record}).DataBytes(), 4936u);
}

// Captures with clocks that jump from the epoch to its end and back.
TEST(TrafficTotals, SaturateDurations) {
  FlowRecord record = RecordOf(kWrites, 1);
  record.message_gap = {
      .count = 1, .sum = Duration::max() - Duration(1), .minimum = {}, .maximum = Duration(1)};
  EXPECT_EQ(SummaryOf({record, record}).total.message_gap.sum, Duration::max());
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

TEST(TrafficTotals, SpanFromTheFirstObservationToTheLast) {
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

TEST(TrafficTotals, UseTheStreamWithMostFirstCopies) {
  FlowRecord retransmitted = RecordOf(kWrites, 120, 0);
  retransmitted.requests.retransmitted = 50;
  const FlowRecord clean = RecordOf(kWrites, 100, 1);
  EXPECT_EQ(SummaryOf({retransmitted, clean}).total.packets, 100u);
}

TEST(TrafficTotals, AddPacketsThatANicSendsWithAnotherTtl) {
  const FlowSummary summary =
      SummaryOf({RecordOf(kWrites, 100, 0, 64), RecordOf(kCnps, 5, 0, 255)});
  EXPECT_EQ(summary.total.packets, 105u);
  EXPECT_EQ(summary.ClassPackets(OperationClass::kCnp), 5u);
  EXPECT_EQ(summary.DataBytes(), 100'000u);
}

TEST(TrafficTotals, DoNotAddPacketsThatAnotherTapShows) {
  const FlowSummary summary =
      SummaryOf({RecordOf(kWrites, 100, 0, 64), RecordOf(kCnps, 5, 1, 255)});
  EXPECT_EQ(summary.total.packets, 100u);
}

TEST(TrafficTotals, AddARareKindsPacketsOnce) {
  const FlowSummary summary = SummaryOf(
      {RecordOf(kWrites, 100, 0, 64), RecordOf(kCnps, 5, 0, 255), RecordOf(kCnps, 5, 0, 254)});
  EXPECT_EQ(summary.ClassPackets(OperationClass::kCnp), 5u);
}

TEST(TrafficTotals, FollowTheSequenceDespiteMoreAcksWithAnotherTtl) {
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

TEST(TrafficTotals, TakeCreditsFromAcksWithAnyTtl) {
  FlowRecord acks = RecordOf(kAcks, 5, 0, 255);
  acks.last_credits = 12;
  EXPECT_EQ(SummaryOf({RecordOf(kWrites, 100), acks}).total.last_credits, 12);
}

TEST(TrafficTotals, TakeMarksFromTheStreamWithMost) {
  FlowRecord before = RecordOf(kWrites, 100, 0);
  FlowRecord behind = RecordOf(kWrites, 90, 1);
  behind.ce_marked = 30;
  EXPECT_EQ(SummaryOf({before, behind}).total.ce_marked, 30u);
}

TEST(TrafficTotals, DetectADscpChangeBetweenIntervals) {
  FlowRecord first = RecordOf(kWrites, 1);
  first.dscp = 26;
  FlowRecord second = first;
  EXPECT_FALSE(SummaryOf({first, second}).total.dscp_changed);
  second.dscp = 34;
  EXPECT_TRUE(SummaryOf({first, second}).total.dscp_changed);
}

TEST(TrafficTotals, ListFlowsByKeyAndStreamsByTap) {
  TestTotals totals;
  FlowRecord other = RecordOf(kWrites, 1);
  other.flow = FlowTo(16);
  totals.Add(RecordOf(kWrites, 1, 1, 63));
  totals.Add(RecordOf(kWrites, 1, 1, 64));
  totals.Add(RecordOf(kWrites, 1, 0));
  totals.Add(other);
  const FlowSummaries summaries = *totals.Summaries();
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].flow, FlowTo(16));
  ASSERT_EQ(summaries[1].streams.size(), 3u);
  EXPECT_EQ(summaries[1].streams[0].tap, 0);
  EXPECT_EQ(summaries[1].streams[1].ttl, 64);
  EXPECT_EQ(summaries[1].streams[2].ttl, 63);
}

// What a tap shows of one interval (100 ms each): WRITEs with PSNs from `first` to `last`, of which
// `unseen` are missing.
FlowRecord Shown(TapId tap, int64_t interval, uint32_t first, uint32_t last, int32_t missing = 0) {
  FlowRecord record = RecordOf(kWrites, last - first + 1 - static_cast<uint32_t>(missing), tap);
  record.interval_width = std::chrono::milliseconds(100);
  record.interval_start = Timestamp(interval * record.interval_width);
  record.first_seen = record.interval_start;
  record.last_seen = record.interval_start + record.interval_width - Duration(1);
  record.requests = {.missing = missing, .valid = true, .last_psn = last};
  record.first_request_psn = first;
  return record;
}

TEST(Parts, OfARotatedCaptureAddUp) {
  const FlowSummary summary = SummaryOf(
      {Shown(0, 1, 0, 99), Shown(0, 2, 100, 129), Shown(1, 2, 130, 199), Shown(1, 3, 200, 299)});
  EXPECT_EQ(summary.total.packets, 300u);
  EXPECT_EQ(summary.agreement, TapAgreement::kJoined);
}

TEST(Parts, AddUpAcrossTheWrapOfTheSequence) {
  const FlowSummary summary = SummaryOf(
      {Shown(0, 1, 0xffffc0, 0xfffff9), Shown(1, 2, 0xfffffa, 0xffffff), Shown(1, 3, 0, 35)});
  EXPECT_EQ(summary.total.packets, 58u + 6u + 36u);
}

TEST(Parts, OfASprayedFlowAddUp) {  // every other packet takes the other spine
  FlowRecord even = Shown(0, 1, 0, 98, 49);
  FlowRecord odd = Shown(1, 1, 1, 99, 49);
  EXPECT_EQ(SummaryOf({even, odd}).total.packets, 100u);
}

TEST(Parts, OfAFlowWhosePathChangesForAWhileAddUp) {  // after a jump, gaps are not in `unseen`
  FlowRecord back = Shown(0, 5, 200'100, 200'199);
  back.requests.restarts = 1;
  const FlowSummary summary = SummaryOf({Shown(0, 1, 0, 99), Shown(1, 2, 100, 200'099), back});
  EXPECT_EQ(summary.total.packets, 200'200u);
}

TEST(Parts, OfTapsThatComeAndGoAddUpThoughTheyOverlap) {
  const FlowSummary summary = SummaryOf(
      {Shown(0, 1, 0, 99), Shown(0, 2, 100, 199), Shown(1, 2, 100, 199), Shown(1, 3, 200, 299)});
  EXPECT_EQ(summary.total.packets, 300u);
  EXPECT_EQ(summary.agreement, TapAgreement::kJoined);
}

TEST(Parts, OfLossyMirrorsAreTheBetterOnesOfEachInterval) {
  const FlowSummary summary = SummaryOf({Shown(0, 1, 0, 99, 20), Shown(1, 1, 0, 99),
                                         Shown(0, 2, 100, 199), Shown(1, 2, 100, 199, 30)});
  EXPECT_EQ(summary.total.packets, 200u);
}

TEST(Parts, OfAcknowledgementsAddUpWhereTheirTapsShowPartsOfOtherFlows) {
  TestTotals totals;
  for (const TapId tap : {TapId{0}, TapId{1}}) {
    totals.Add(Shown(tap, tap, tap * 100, tap * 100 + 99));
    FlowRecord acks = RecordOf(kAcks, 10, tap);
    acks.flow = FlowTo(16);
    totals.Add(acks);
  }
  EXPECT_EQ((*totals.Summaries())[0].total.packets, 20u);
}

// The clocks differ by an interval and a half.
TEST(Copies, CountOnceIfTheClocksOfTheirTapsDiffer) {
  const FlowSummary summary =
      SummaryOf({Shown(0, 1, 0, 99), Shown(0, 2, 100, 199), Shown(1, 2, 0, 49),
                 Shown(1, 3, 50, 149), Shown(1, 4, 150, 199)});
  EXPECT_EQ(summary.total.packets, 200u);
  EXPECT_EQ(summary.agreement, TapAgreement::kAgree);
}

TEST(Copies, CountOnceIfBothLackTheSamePackets) {
  EXPECT_EQ(SummaryOf({Shown(0, 1, 0, 99, 60), Shown(1, 1, 0, 99, 60)}).total.packets, 40u);
}

TEST(Copies, OfAcknowledgementsCountOnceWhereTheirTapsShowCopiesOfOtherFlows) {
  TestTotals totals;
  for (const TapId tap : {TapId{0}, TapId{1}}) {
    totals.Add(Shown(tap, 1, 0, 99));
    FlowRecord acks = RecordOf(kAcks, 10, tap);
    acks.flow = FlowTo(16);
    totals.Add(acks);
  }
  EXPECT_EQ((*totals.Summaries())[0].total.packets, 10u);
}

TEST(Copies, ThatContradictEachOtherAreReported) {  // the second tap shows a complete sequence
  FlowRecord few = Shown(1, 1, 0, 999);
  few.class_packets[kWrites] = few.packets = 500;
  EXPECT_EQ(SummaryOf({Shown(0, 1, 0, 999), few}).agreement, TapAgreement::kDisagree);
}

TEST(Copies, OfOtherKindsBringTheirChangesOfPortAndDscp) {
  FlowRecord acks = RecordOf(kAcks, 5, 0, 255);
  acks.udp_source_port_changes = 3;
  acks.dscp_changed = true;
  const FlowCounts total = SummaryOf({RecordOf(kWrites, 100), acks}).total;
  EXPECT_EQ(total.udp_source_port_changes, 3u);
  EXPECT_TRUE(total.dscp_changed);
}

TEST(Copies, OfOtherKindsMayHaveAnotherDscp) {
  FlowRecord acks = RecordOf(kAcks, 5, 0, 255);
  acks.dscp = 48;
  const FlowCounts total = SummaryOf({RecordOf(kWrites, 100), acks}).total;
  EXPECT_FALSE(total.dscp_changed);
  EXPECT_EQ(total.dscp, 0);
}

TEST(Records, OfOneIntervalAddUp) {  // the flow table creates several if a counter is full
  EXPECT_EQ(SummaryOf({Shown(0, 1, 0, 99), Shown(0, 1, 100, 149)}).total.packets, 150u);
}

TEST(Records, ThatArriveLateCountForTheirOwnTap) {
  TestTotals totals;
  totals.Add(Shown(0, 2, 100, 199));
  totals.Add(Shown(0, 1, 0, 99));
  EXPECT_EQ((*totals.Summaries())[0].total.packets, 200u);
  EXPECT_EQ(totals.Statistics().late_records, 1u);
}

TEST(Records, MayFillAGapOfAnEarlierInterval) {
  FlowRecord filling = Shown(0, 2, 100, 199);
  filling.requests.missing = -20;
  EXPECT_EQ(SummaryOf({Shown(0, 1, 0, 99, 20), filling}).total.missing, 0u);
}

constexpr Timestamp kChange = Timestamp(std::chrono::milliseconds(250));

TEST(Incarnations, AreCountedSeparately) {
  TestTotals totals;
  totals.Add(Shown(0, 1, 0, 99));
  totals.Cut(FlowTo(17), kChange);
  totals.Add(Shown(0, 2, 0, 9));
  totals.Add(Shown(0, 3, 10, 29));
  const FlowSummary summary = (*totals.Summaries())[0];
  ASSERT_NE(summary.Of(kChange), nullptr);
  EXPECT_EQ(summary.Of(kChange)->packets, 100u);
  ASSERT_NE(summary.Of(std::nullopt), nullptr);
  EXPECT_EQ(summary.Of(std::nullopt)->packets, 30u);
  EXPECT_EQ(summary.total.packets, 130u);
}

TEST(Incarnations, AreCountedSeparatelyForLaterRecords) {
  TestTotals totals;
  totals.Cut(FlowTo(17), kChange);
  totals.Add(Shown(0, 1, 0, 99));
  totals.Add(Shown(0, 2, 0, 9));
  const FlowSummary summary = (*totals.Summaries())[0];
  EXPECT_EQ(summary.Of(kChange)->packets, 100u);
  EXPECT_EQ(summary.Of(std::nullopt)->packets, 10u);
}

TEST(Incarnations, WithoutTrafficAreIgnored) {
  TestTotals totals;
  totals.Add(Shown(0, 1, 0, 99));
  totals.Cut(FlowTo(17), kChange);
  const FlowSummary summary = (*totals.Summaries())[0];
  EXPECT_EQ(summary.Of(kChange)->packets, 100u);
  EXPECT_EQ(summary.Of(std::nullopt), nullptr);
}

TEST(Incarnations, WithoutAChangeAreOne) {
  EXPECT_EQ(SummaryOf({Shown(0, 1, 0, 99)}).Of(std::nullopt)->packets, 100u);
}

TEST(Incarnations, CountEachPacketOnceHoweverManyTapsShowIt) {
  TestTotals totals;
  totals.Cut(FlowTo(17), kChange);
  for (const int64_t interval : {1, 2}) {
    for (const TapId tap : {TapId{0}, TapId{1}}) totals.Add(Shown(tap, interval, 0, 99));
  }
  const FlowSummary summary = (*totals.Summaries())[0];
  EXPECT_EQ(summary.Of(kChange)->packets, 100u);
  EXPECT_EQ(summary.Of(std::nullopt)->packets, 100u);
}

TEST(Incarnations, BeyondTheLimitAreMergedAndCounted) {
  TestTotals totals(TrafficLimits{.closed_incarnations = 1});
  for (int64_t interval = 1; interval <= 3; ++interval) {
    totals.Add(Shown(0, interval, 0, 99));
    totals.Cut(FlowTo(17), Timestamp((interval + 1) * std::chrono::milliseconds(100)));
  }
  totals.Add(Shown(0, 4, 0, 99));
  const FlowSummary summary = (*totals.Summaries())[0];
  EXPECT_EQ(summary.incarnations.size(), 2u);
  EXPECT_EQ(summary.total.packets, 400u);
  EXPECT_EQ(totals.Statistics().incarnations_merged, 2u);
}

TEST(Streams, BeyondTheLimitReplaceTheQuietestFlow) {
  TestTotals totals(TrafficLimits{.streams = 2});
  for (const uint32_t qpn : {11u, 12u, 13u}) {
    FlowRecord record = Shown(0, qpn, 0, 99);
    record.flow = FlowTo(qpn);
    totals.Add(record);
  }
  const FlowSummaries summaries = *totals.Summaries();
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].flow, FlowTo(12));
  EXPECT_EQ(summaries[1].flow, FlowTo(13));
  EXPECT_EQ(totals.Statistics().flows_evicted, 1u);
  EXPECT_EQ(totals.Statistics().evicted.packets, 100u);
}

// Although a record's hint refers to it.
TEST(Streams, OfAnEvictedFlowAreNotUsedForTheNext) {
  TestTotals totals(TrafficLimits{.streams = 1});
  for (const uint32_t qpn : {11u, 12u, 11u}) {
    FlowRecord record = RecordOf(kWrites, 10);
    record.flow = FlowTo(qpn);
    record.hint = qpn;
    totals.Add(record);
  }
  ASSERT_EQ(totals.Summaries()->size(), 1u);
  EXPECT_EQ((*totals.Summaries())[0].total.packets, 10u);
  EXPECT_EQ(totals.Statistics().evicted.packets, 20u);
}

}  // namespace
}  // namespace rocescope
