// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/loss/loss_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/window_row.h"

namespace rocescope {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr Duration kWindow = std::chrono::milliseconds(100);

FlowRecord Record(uint32_t qpn, TapId tap, int64_t ms) {
  return {.flow = {.source = IpAddress::FromV4(1),
                   .destination = IpAddress::FromV4(2),
                   .destination_qpn = Qpn{qpn}},
          .tap = tap,
          .interval_start = FromNanoseconds(ms * 1'000'000),
          .interval_width = kWindow};
}

TEST(LossTrackerTest, FlowsWithoutLossAreNotKept) {
  LossTracker tracker({.window = kWindow});
  tracker.Add(Record(1, 0, 0));
  EXPECT_TRUE(tracker.losses().empty());
}

TEST(LossTrackerTest, TwoTapsShowOneLossOfAWindow) {
  LossTracker tracker({.window = kWindow});
  FlowRecord record = Record(1, 0, 250);
  record.requests.resent = 3;
  tracker.Add(record);
  record.tap = 1;
  record.requests.resent = 5;
  record.naks[static_cast<size_t>(NakKind::kSequenceError)] = 1;
  tracker.Add(record);
  record.interval_start += kWindow;
  tracker.Add(record);
  EXPECT_THAT(tracker.losses(),
              ElementsAre(Pair(record.flow,
                               ElementsAre(LossWindow{.window = 2, .resent = 5, .refused = 1},
                                           LossWindow{.window = 3, .resent = 5, .refused = 1}))));
}

TEST(LossTrackerTest, ReceiversThatAreNotReadyLostNothing) {
  LossTracker tracker({.window = kWindow});
  FlowRecord record = Record(1, 0, 0);
  record.naks[static_cast<size_t>(NakKind::kReceiverNotReady)] = 9;
  tracker.Add(record);
  EXPECT_TRUE(tracker.losses().empty());
}

TEST(LossTrackerTest, FlowsAndWindowsAreBounded) {
  LossTracker tracker({.window = kWindow, .flows = 1});
  for (uint32_t i = 0; i < 300; ++i) {
    FlowRecord record = Record(1, 0, 100 * i);
    record.requests.resent = 1;
    tracker.Add(record);
  }
  FlowRecord other = Record(2, 0, 0);
  other.requests.resent = 1;
  tracker.Add(other);
  EXPECT_EQ(tracker.losses().size(), 1u);
  EXPECT_EQ(tracker.flows_refused(), 1u);
  EXPECT_EQ(tracker.losses().begin()->second.size(), kMostWindows);
  EXPECT_EQ(tracker.losses().begin()->second.back().window, 299);
}

}  // namespace
}  // namespace rocescope
