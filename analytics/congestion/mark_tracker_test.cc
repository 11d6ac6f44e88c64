// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/mark_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/window_row.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MarkTrackerTest : public testing::Test {
 protected:
  static constexpr FlowKey kFlow = {.destination_qpn = {7}};
  enum : TapId { kIngress = 1, kEgress = 2, kNowhere = 3 };

  MarkTrackerTest() {
    const IpAddress leaf = fabric_.node(fabric_.FindNode("leaf0")).erspan_source;
    tracker_.LearnTap({.tap = kIngress, .switch_address = leaf, .side = TapSide::kIngress});
    tracker_.LearnTap({.tap = kEgress, .switch_address = leaf, .side = TapSide::kEgress});
    tracker_.LearnTap({.tap = kNowhere, .switch_address = IpAddress::FromV4(1)});
  }
  static FlowRecord Record(TapId tap, int64_t ms, uint8_t ttl, uint64_t packets, uint32_t marked,
                           FlowKey flow = kFlow) {
    FlowRecord record;
    record.flow = flow;
    record.tap = tap;
    record.ttl = ttl;
    record.interval_start = FromNanoseconds(ms * 1'000'000);
    record.packets = packets;
    record.ce_marked = marked;
    return record;
  }
  void Add(std::vector<FlowRecord> records) {
    RecordBatch batch;
    batch.flows = std::move(records);
    tracker_.Add(batch);
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  const topology::NodeIndex leaf_ = fabric_.FindNode("leaf0");
  MarkTracker tracker_{fabric_, {.window = std::chrono::milliseconds(2), .flows = 1}};
};

TEST_F(MarkTrackerTest, IgnoresUnmarkedFlows) {
  Add({Record(kIngress, 0, 64, 100, 0)});
  EXPECT_THAT(tracker_.flows(), IsEmpty());
}

TEST_F(MarkTrackerTest, AddsIntervalsOfAWindowByTtl) {
  Add({Record(kIngress, 4, 64, 100, 0), Record(kIngress, 4, 62, 90, 3),
       Record(kIngress, 5, 64, 50, 0), Record(kIngress, 6, 62, 10, 0)});
  ASSERT_EQ(tracker_.flows().size(), 1u);
  const std::vector<MarkWindow>& windows = tracker_.flows().begin()->second;
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].window, 2);
  EXPECT_THAT(windows[0].sights,
              ElementsAre(MarkObservation{.node = leaf_, .ttl = 64, .packets = 150},
                          MarkObservation{.node = leaf_, .ttl = 62, .packets = 90, .marked = 3}));
  EXPECT_THAT(windows[1].sights,
              ElementsAre(MarkObservation{.node = leaf_, .ttl = 62, .packets = 10}));
}

TEST_F(MarkTrackerTest, KeepsFlowsWithCnps) {
  FlowRecord record = Record(kIngress, 0, 64, 5, 0);
  record.class_packets[static_cast<size_t>(OperationClass::kCnp)] = 2;
  Add({record});
  ASSERT_EQ(tracker_.flows().size(), 1u);
  EXPECT_EQ(tracker_.flows().begin()->second[0].sights[0].cnps, 2u);
}

// An egress copy does not show whether the mark was set before or after the queue.
TEST_F(MarkTrackerTest, CountsOnlyIngressCopiesOfKnownSwitches) {
  Add({Record(kEgress, 0, 64, 5, 5), Record(kNowhere, 0, 64, 5, 5), Record(9, 0, 64, 5, 5)});
  EXPECT_THAT(tracker_.flows(), IsEmpty());
}

TEST_F(MarkTrackerTest, FlowsAndWindowsAreBounded) {
  for (int64_t i = 0; i < 300; ++i) Add({Record(kIngress, 2 * i, 64, 5, 1)});
  Add({Record(kIngress, 700, 64, 5, 1, {.destination_qpn = {8}})});
  ASSERT_EQ(tracker_.flows().size(), 1u);
  EXPECT_EQ(tracker_.flows_refused(), 1u);
  EXPECT_EQ(tracker_.flows().begin()->second.size(), kMaxWindows);
  EXPECT_EQ(tracker_.flows().begin()->second.back().window, 299);
}

TEST_F(MarkTrackerTest, AcceptsManyFlowsAtOnce) {
  MarkTracker tracker(fabric_, {.window = std::chrono::milliseconds(2), .flows = 4});
  tracker.LearnTap({.tap = kIngress,
                    .switch_address = fabric_.node(leaf_).erspan_source,
                    .side = TapSide::kIngress});
  const auto add = [&](int64_t ms, std::vector<uint32_t> numbers) {
    RecordBatch batch;
    for (const uint32_t number : numbers) {
      batch.flows.push_back(Record(kIngress, ms, 64, 5, 1, {.destination_qpn = {number}}));
    }
    tracker.Add(batch);
  };
  add(0, {1, 2, 3});
  add(4000, {11, 12, 13});
  EXPECT_EQ(tracker.flows_refused(), 0u);
  EXPECT_EQ(tracker.flows_evicted(), 3u);
  ASSERT_EQ(tracker.flows().size(), 3u);
  for (const auto& [flow, windows] : tracker.flows()) {
    ASSERT_EQ(windows.size(), 1u);
    EXPECT_EQ(windows[0].sights.at(0).marked, 1u);
  }
}

TEST_F(MarkTrackerTest, AWrongClockEvictsNothing) {
  MarkTracker tracker(fabric_, {.window = std::chrono::milliseconds(2), .flows = 16});
  tracker.LearnTap({.tap = kIngress,
                    .switch_address = fabric_.node(leaf_).erspan_source,
                    .side = TapSide::kIngress});
  for (uint32_t number = 1; number <= 17; ++number) {
    RecordBatch batch;
    batch.flows = {
        Record(kIngress, number == 17 ? 3'600'000 : 10, 64, 5, 1, {.destination_qpn = {number}})};
    tracker.Add(batch);
  }
  EXPECT_EQ(tracker.flows().size(), 16u);
  EXPECT_EQ(tracker.flows_refused(), 1u);
}

TEST_F(MarkTrackerTest, EvictsFlowsWithOldWindows) {
  Add({Record(kIngress, 0, 64, 5, 1)});
  const auto last = static_cast<int64_t>(kMaxWindows) - 1;
  const FlowKey other = {.destination_qpn = {8}};
  Add({Record(kIngress, 2 * last, 64, 5, 1, other)});
  EXPECT_EQ(tracker_.flows_refused(), 1u) << "window 0 is still stored";
  Add({Record(kIngress, 2 * last + 2, 64, 5, 1, other)});
  ASSERT_EQ(tracker_.flows().size(), 1u);
  EXPECT_EQ(tracker_.flows().begin()->first, other);
}

}  // namespace
}  // namespace rocescope
