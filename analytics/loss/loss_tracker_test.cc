// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/loss/loss_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/window_row.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr Duration kWindow = std::chrono::milliseconds(100);

const topology::Fabric& Fabric() {
  static const topology::Fabric fabric =
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value();
  return fabric;
}

FlowRecord Record(uint32_t qpn, TapId tap, int64_t ms) {
  return {.flow = {.source = IpAddress::FromV4(1),
                   .destination = IpAddress::FromV4(2),
                   .destination_qpn = Qpn{qpn}},
          .tap = tap,
          .interval_start = FromNanoseconds(ms * 1'000'000),
          .interval_width = kWindow};
}

TEST(LossTrackerTest, IgnoresFlowsWithoutLoss) {
  LossTracker tracker(Fabric(), {.window = kWindow});
  tracker.Add(Record(1, 0, 0));
  EXPECT_TRUE(tracker.losses().empty());
}

TEST(LossTrackerTest, CountsOneLossShownByTwoTapsOnce) {
  LossTracker tracker(Fabric(), {.window = kWindow});
  FlowRecord record = Record(1, 0, 250);
  record.requests.retransmitted = 3;
  tracker.Add(record);
  record.tap = 1;
  record.requests.retransmitted = 5;
  record.naks[static_cast<size_t>(NakKind::kSequenceError)] = 1;
  tracker.Add(record);
  record.interval_start += kWindow;
  tracker.Add(record);
  EXPECT_THAT(
      tracker.losses(),
      ElementsAre(Pair(record.flow,
                       ElementsAre(LossWindow{.window = 2, .retransmitted = 5, .refused = 1},
                                   LossWindow{.window = 3, .retransmitted = 5, .refused = 1}))));
}

TEST(LossTrackerTest, IgnoresReceiverNotReadyNaks) {
  LossTracker tracker(Fabric(), {.window = kWindow});
  FlowRecord record = Record(1, 0, 0);
  record.naks[static_cast<size_t>(NakKind::kReceiverNotReady)] = 9;
  tracker.Add(record);
  EXPECT_TRUE(tracker.losses().empty());
}

TEST(LossTrackerTest, FlowsAndWindowsAreBounded) {
  LossTracker tracker(Fabric(), {.window = kWindow, .flows = 1});
  for (uint32_t i = 0; i < 300; ++i) {
    FlowRecord record = Record(1, 0, 100 * i);
    record.requests.retransmitted = 1;
    tracker.Add(record);
  }
  FlowRecord other = Record(2, 0, 0);
  other.requests.retransmitted = 1;
  tracker.Add(other);
  EXPECT_EQ(tracker.losses().size(), 1u);
  EXPECT_EQ(tracker.refused(), 1u);
  EXPECT_EQ(tracker.losses().begin()->second.size(), kMaxWindows);
  EXPECT_EQ(tracker.losses().begin()->second.back().window, 299);
}

TEST(LossTrackerTest, EvictsFlowsWithOnlyForgottenLoss) {
  LossTracker tracker(Fabric(), {.window = kWindow, .flows = 1});
  tracker.LearnTap(
      {.tap = 0, .switch_address = Fabric().node(Fabric().FindNode("leaf0")).erspan_source});
  FlowRecord first = Record(1, 0, 0);
  first.requests.retransmitted = 1;
  tracker.Add(first);
  const auto add = [&](int64_t window) {
    FlowRecord second = Record(2, 0, 100 * window);
    second.requests.retransmitted = 1;
    tracker.Add(second);
    return second.flow;
  };
  add(kMaxWindows - 1);
  EXPECT_EQ(tracker.losses().begin()->first, first.flow) << "its window is still stored";
  EXPECT_EQ(tracker.refused(), 2u) << "one as a loss and one as an observation";
  const FlowKey flow = add(kMaxWindows);
  ASSERT_EQ(tracker.losses().size(), 1u);
  EXPECT_EQ(tracker.losses().begin()->first, flow);
  EXPECT_TRUE(tracker.ObservationsOf(first.flow, 0, 1000).empty());
  EXPECT_EQ(tracker.ObservationsOf(flow, 0, 1000).size(), 1u);
  EXPECT_EQ(tracker.refused(), 2u);
}

// A flow mirrored by a port set may pass the same tap twice with different TTLs.
TEST(LossTrackerTest, AddsTenIntervalsOfOneTap) {
  LossTracker tracker(Fabric(), {.window = std::chrono::seconds(1)});
  for (int64_t ms = 3000; ms < 4000; ms += 100) {
    for (const TapId tap : {0, 1}) {
      FlowRecord record = Record(1, tap, ms);
      record.naks[static_cast<size_t>(NakKind::kSequenceError)] = 1;
      record.requests.retransmitted = tap == 0 ? 4 : 3;
      record.ttl = 63;
      tracker.Add(record);
      record.ttl = 62;
      tracker.Add(record);
    }
  }
  EXPECT_THAT(
      tracker.losses(),
      ElementsAre(Pair(Record(1, 0, 0).flow,
                       ElementsAre(LossWindow{.window = 3, .retransmitted = 40, .refused = 10}))));
}

TEST(LossTrackerTest, CountsALateRecordSeparately) {
  LossTracker tracker(Fabric(), {.window = kWindow});
  FlowRecord record = Record(1, 0, 200);
  record.requests.retransmitted = 5;
  tracker.Add(record);
  record = Record(1, 0, 100);
  record.requests.retransmitted = 2;
  tracker.Add(record);
  EXPECT_THAT(tracker.losses().at(record.flow),
              ElementsAre(LossWindow{.window = 1, .retransmitted = 2},
                          LossWindow{.window = 2, .retransmitted = 5}));
}

// A packet is lost after the first switch: it passed there twice. It passed the second switch late,
// after the two packets that had followed it and were retransmitted with it.
TEST(LossTrackerTest, TapsShowWhetherALostPacketHadPassed) {
  LossTracker tracker(Fabric(), {.window = kWindow});
  for (const TapId tap : {0, 1}) {
    const auto node = Fabric().FindNode(tap == 0 ? "leaf0" : "spine1");
    tracker.LearnTap({.tap = tap, .switch_address = Fabric().node(node).erspan_source});
  }
  FlowRecord record = Record(1, 0, 0);
  record.requests.retransmitted = 3;
  tracker.Add(record);
  record.tap = 1;
  record.requests = {.reordered = 1, .retransmitted = 2};
  tracker.Add(record);
  record.tap = 2;  // a tap with an unknown location
  tracker.Add(record);
  EXPECT_THAT(
      tracker.ObservationsOf(record.flow, 0, 1),
      ElementsAre(
          LossObservation{.node = Fabric().FindNode("leaf0"), .late = 0, .retransmitted = 3},
          LossObservation{.node = Fabric().FindNode("spine1"), .late = 1, .retransmitted = 2}));
  EXPECT_TRUE(tracker.ObservationsOf(Record(2, 0, 0).flow, 0, 1).empty());
}

TEST(LossTrackerTest, ReturnsObservationsOfTheRequestedWindows) {
  LossTracker tracker(Fabric(), {.window = std::chrono::seconds(1)});
  const auto node = Fabric().FindNode("leaf0");
  for (const TapId tap : {0, 1}) {
    tracker.LearnTap({.tap = tap, .switch_address = Fabric().node(node).erspan_source});
  }
  for (int64_t ms = 0; ms < 5000; ms += 100) {
    FlowRecord record = Record(1, 0, ms);
    record.requests.reordered = 1;
    tracker.Add(record);
    record.tap = 1;  // another session mirrors the same port
    tracker.Add(record);
  }
  EXPECT_THAT(tracker.ObservationsOf(Record(1, 0, 0).flow, 1, 3),
              ElementsAre(LossObservation{.node = node, .late = 20}));
}

TEST(LossTrackerTest, IgnoresEgressTapsForLocation) {
  LossTracker tracker(Fabric(), {.window = kWindow});
  const auto node = Fabric().FindNode("leaf0");
  tracker.LearnTap(
      {.tap = 0, .switch_address = Fabric().node(node).erspan_source, .side = TapSide::kEgress});
  FlowRecord record = Record(1, 0, 0);
  record.requests.retransmitted = 3;
  tracker.Add(record);
  EXPECT_TRUE(tracker.ObservationsOf(record.flow, 0, 1).empty());
}

}  // namespace
}  // namespace rocescope
