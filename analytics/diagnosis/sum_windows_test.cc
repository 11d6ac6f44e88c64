// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/sum_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "analytics/diagnosis/diagnosis_fixture.h"
#include "analytics/diagnosis/link_balance.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// All windows of `of` that are not so.
std::vector<size_t> NotIn(const std::vector<bool>& of) {
  std::vector<size_t> windows;
  for (size_t i = 0; i < of.size(); ++i) {
    if (!of[i]) windows.push_back(i);
  }
  return windows;
}

class SumWindowsTest : public DiagnosisTest {
 protected:
  SumWindows OfLink() {
    const std::array counters = {Counter(EntityOf(sender_), Metric::kTxPackets),
                                 Counter(EntityOf(receiver_), Metric::kRxPackets)};
    return In([&](const DiagnosisInput& input) { return SumWindowsOf(input, counters); });
  }

  const topology::PortIndex sender_ = Port("leaf0", "spine1");
  const topology::PortIndex receiver_ = Port("spine1", "leaf0");
};

TEST_F(SumWindowsTest, AllAreGoodWhereEachIsReadAtEachEnd) {
  const SumWindows windows = OfLink();
  EXPECT_THAT(NotIn(windows.known), IsEmpty());
  EXPECT_THAT(NotIn(windows.read), IsEmpty());
}

TEST_F(SumWindowsTest, OneThatFellMakesTheWindowUnknownForAllOfItsEntity) {
  Grows(receiver_, Metric::kRxBytes, 3, 1000);
  FallsToZero(receiver_, Metric::kRxBytes, 7);
  EXPECT_THAT(NotIn(OfLink().known), ElementsAre(7));
}

TEST_F(SumWindowsTest, WindowsThatOneSkipsSayNothingOfTheSumAndThoseThatAllSkipDo) {
  SkipsReadings(EntityOf(receiver_), 5, 6);
  EXPECT_THAT(NotIn(OfLink().read), ElementsAre(5, 6));
  SkipsReadings(EntityOf(sender_), 5, 6);
  EXPECT_THAT(NotIn(OfLink().read), IsEmpty());
  SkipsReadings(EntityOf(sender_), 7, 7);
  EXPECT_THAT(NotIn(OfLink().read), ElementsAre(5, 6, 7)) << "the shares differ";
}

TEST_F(SumWindowsTest, BehindAnUnknownWindowASumBeginsWhereAllAreRead) {
  FallsToZero(receiver_, Metric::kRxPackets, 3);
  Grows(receiver_, Metric::kRxPackets, 0, 100);
  Grows(receiver_, Metric::kRxPackets, 3, uint64_t{0} - 100);
  SkipsReadings(EntityOf(sender_), 3, 5);
  EXPECT_THAT(NotIn(OfLink().known), ElementsAre(3, 4, 5, 6));
}

// Whether all skipped them too is unknown.
TEST_F(SumWindowsTest, ASumDoesNotBeginBehindSkippedWindowsThatAreNotStored) {
  MetricStore metrics(fabric_, {.window = kWindow});
  const auto read = [&](topology::PortIndex port, Metric metric, size_t window) {
    CounterRecord record{.metric = metric, .value = window};
    record.entity.node = fabric_.node(fabric_.port(port).node).name;
    record.entity.port = fabric_.port(port).name;
    record.event_time = record.arrival_time = End(window);
    metrics.Add(record);
  };
  constexpr size_t kStored = MetricSeries::kMaxWindows;
  // The receiver skips windows 7 to 9, and the sender window 9.
  for (size_t w = 0; w < 10 + kStored; ++w) {
    if (w != 9) read(sender_, Metric::kTxPackets, w);
    if (w < 7 || w > 9) read(receiver_, Metric::kRxPackets, w);
  }
  const std::array counters = {Counter(EntityOf(sender_), Metric::kTxPackets),
                               Counter(EntityOf(receiver_), Metric::kRxPackets)};
  const SumWindows windows =
      In(metrics, [&](const DiagnosisInput& input) { return SumWindowsOf(input, counters); });
  EXPECT_THAT(NotIn(windows.known), ElementsAre(0));
}

// What the sender sent in the middle of the gap the receiver shares out over all of it.
TEST_F(SumWindowsTest, NothingIsMissingBehindAGap) {
  Carries(sender_, 6, 9000);
  SkipsReadings(EntityOf(receiver_), 5, 7);
  const Balance balance =
      In([&](const DiagnosisInput& input) { return LinkBalance(input, sender_, receiver_); });
  for (const size_t w : {5u, 6u, 7u}) EXPECT_EQ(balance.missing[w], Balance::kUnread);
  for (const size_t w : {4u, 8u, 19u}) EXPECT_EQ(balance.missing[w], 0);
}

}  // namespace
}  // namespace rocescope
