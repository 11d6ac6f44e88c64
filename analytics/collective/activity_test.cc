// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/activity.h"

#include <gtest/gtest.h>

#include <chrono>

#include "analytics/flow/with_own_flows.h"

namespace rocescope {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

using TestTracker = WithOwnFlows<ActivityTracker>;

constexpr Timestamp kStart = FromNanoseconds(1'700'000'000'000'000'000);

FlowKey FlowTo(uint32_t qpn) {
  return {.source = IpAddress::FromV4(1),
          .destination = IpAddress::FromV4(2),
          .destination_qpn = {qpn}};
}

ObservationRecord Request(uint32_t qpn, Timestamp time, uint8_t ttl = 64) {
  return {.flow = FlowTo(qpn),
          .kind = ObservationKind::kRequest,
          .ttl = ttl,
          .payload_length = 1024,
          .event_time = time};
}

TEST(ActivityTracker, IsEmptyAtFirst) {
  const TestTracker tracker;
  EXPECT_EQ(tracker.Line().length, 0u);
  EXPECT_TRUE(tracker.Flows().empty());
}

TEST(ActivityTracker, RecordsWhenAFlowSent) {
  TestTracker tracker;
  tracker.Add(Request(7, kStart));
  tracker.Add(Request(7, kStart + microseconds(100)));
  const auto flows = tracker.Flows();
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].active.Count(), 2u);
  const TimeLine line = tracker.Line();
  const size_t first = flows[0].active.FirstFrom(0);
  const Timestamp at = line.begin + line.width * static_cast<int64_t>(first);
  EXPECT_LE(at, kStart);
  EXPECT_GT(at + line.width, kStart);
}

TEST(ActivityTracker, WidensSlotsUntilTheyCoverTheRun) {
  TestTracker tracker;
  for (int i = 0; i < 1000; ++i) tracker.Add(Request(7, kStart + microseconds(50 * i)));
  const TimeLine line = tracker.Line();
  EXPECT_LE(line.length, Bits::kCount);
  EXPECT_GT(line.length, Bits::kCount / 2);  // no wider than necessary
  EXPECT_GE(line.width * static_cast<int64_t>(line.length), milliseconds(49));
  EXPECT_EQ(line.begin + line.width * static_cast<int64_t>(tracker.Flows()[0].active.FirstFrom(0)) +
                    line.width >
                kStart,
            true);
}

TEST(ActivityTracker, SlidesOnceSlotsHaveMaximumLength) {
  TestTracker tracker(ActivityOptions{.first_width = 10, .last_width = 12});
  const nanoseconds stretch(1 << 12);
  tracker.Add(Request(7, kStart));
  tracker.Add(Request(8, kStart + stretch * 1000));
  tracker.Add(Request(8, kStart + stretch * 4000));
  const TimeLine line = tracker.Line();
  EXPECT_EQ(line.width, stretch);
  EXPECT_EQ(line.length, Bits::kCount);
  const auto flows = tracker.Flows();
  ASSERT_EQ(flows.size(), 1u);  // the other one was idle for too long
  EXPECT_EQ(flows[0].flow, FlowTo(8));
  EXPECT_EQ(flows[0].active.Count(), 1u);
  EXPECT_TRUE(flows[0].active.Test(Bits::kCount - 1));
}

TEST(ActivityTracker, ForgetsActivityBeforeTheTimeLine) {
  TestTracker tracker(ActivityOptions{.first_width = 10, .last_width = 10});
  const nanoseconds stretch(1 << 10);
  constexpr int kSpacing = 100;
  for (int i = 0; i < 75; ++i) tracker.Add(Request(7, kStart + stretch * kSpacing * i));
  const Bits active = tracker.Flows()[0].active;
  EXPECT_EQ(active.Count(), Bits::kCount / kSpacing + 1);
  for (size_t back = 0; back < Bits::kCount; back += kSpacing) {
    EXPECT_TRUE(active.Test(Bits::kCount - 1 - back)) << back;
  }
}

TEST(ActivityTracker, CountsLateRecords) {
  TestTracker tracker(ActivityOptions{.first_width = 10, .last_width = 10});
  tracker.Add(Request(7, kStart + milliseconds(100)));
  tracker.Add(Request(7, kStart));
  EXPECT_EQ(tracker.late(), 1u);
}

TEST(ActivityTracker, RecordsMessageLengths) {
  TestTracker tracker;
  ObservationRecord first = Request(7, kStart);
  first.has_reth = true;
  for (const uint32_t length : {524288u, 524288u, 4096u}) {
    first.reth_length = length;
    tracker.Add(first);
  }
  const MessageLengths lengths = tracker.Flows().at(0).lengths;
  EXPECT_EQ(lengths.most[0].length, 524288u);
  EXPECT_EQ(lengths.most[0].count, 2u);
  EXPECT_EQ(lengths.most[1].count, 1u);
}

TEST(ActivityTracker, TakesLengthsFromTheTapNearestTheSource) {
  TestTracker tracker;
  for (const uint8_t ttl : {62, 64, 63, 64}) {
    ObservationRecord first = Request(7, kStart, ttl);
    first.has_reth = true;
    first.reth_length = 4096;
    tracker.Add(first);
  }
  EXPECT_EQ(tracker.Flows().at(0).lengths.most[0].count, 2u);
}

TEST(ActivityTracker, RecordsTheEndsOfAnIntervalWithOnlyRequests) {
  TestTracker tracker;
  FlowRecord record{.flow = FlowTo(7), .ttl = 64, .packets = 10, .payload_bytes = 1000};
  record.messages = 1;
  record.first_seen = kStart;
  record.last_seen = kStart + microseconds(500);
  tracker.Add(record);
  EXPECT_EQ(tracker.Flows().at(0).active.Count(), 2u);
  record.flow = FlowTo(8);
  record.class_packets[static_cast<size_t>(OperationClass::kAcknowledge)] = 1;
  tracker.Add(record);
  EXPECT_EQ(tracker.Flows().size(), 1u);
}

TEST(ActivityTracker, ForgetsThePreviousOwnerOfAQueuePairNumber) {
  TestTracker tracker;
  tracker.Add(Request(7, kStart));
  tracker.Cut(FlowTo(7));
  EXPECT_TRUE(tracker.Flows().empty());
  tracker.Add(Request(7, kStart + microseconds(10)));
  EXPECT_EQ(tracker.Flows().at(0).active.Count(), 1u);
}

TEST(ActivityTracker, EvictsIdleFlowsForNewOnes) {
  TestTracker tracker(ActivityOptions{.flows = 2});
  const auto add = [&](uint32_t qpn, int64_t second) {
    tracker.SetTime(kStart + seconds(second));
    tracker.Add(Request(qpn, kStart + seconds(second)));
  };
  add(1, 0);
  add(2, 0);
  add(3, 5);  // both were active recently
  EXPECT_EQ(tracker.flows_refused(), 1u);
  add(2, 15);
  add(3, 15);
  EXPECT_EQ(tracker.flows_refused(), 1u);
  const std::vector<FlowActivity> flows = tracker.Flows();
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].flow, FlowTo(2));
  EXPECT_EQ(flows[1].flow, FlowTo(3));
}

}  // namespace
}  // namespace rocescope
