// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/complete_iterations.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace rocescope {
namespace {

constexpr size_t kChannels = 4;

// Channels of a group that computes and then sends.
class Group {
 public:
  void Send(size_t from, size_t to, std::initializer_list<size_t> channels = {0, 1, 2, 3}) {
    for (const size_t channel : channels) {
      for (size_t i = from; i < to; ++i) channels_[channel].Set(i);
    }
    length_ = to;
  }
  std::optional<Iterations> Find() const {
    std::vector<const Bits*> series;
    Bits active;
    for (const Bits& channel : channels_) {
      series.push_back(&channel);
      active |= channel;
    }
    const Periods periods = FindPeriods(series, length_);
    if (!periods.best) return std::nullopt;
    return FindCompleteIterations(active, series, length_, periods.all, periods.best->intervals);
  }

 private:
  std::vector<Bits> channels_ = std::vector<Bits>(kChannels);
  size_t length_ = 0;
};

// The four iterations together repeat more exactly than each of them.
TEST(CompleteIterations, AnEvaluationAfterEachFourthIterationIsNoPeriod) {
  Group group;
  size_t at = 10;
  for (int k = 0; k < 40; ++k) {
    group.Send(at, at + 10);
    at += k % 4 == 3 ? 50 : 30;
  }
  const auto found = group.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 39u);
  EXPECT_NEAR(found->period, 34.6, 0.1);
}

TEST(CompleteIterations, AStallWithinACollectiveAddsNoIteration) {
  Group group;
  size_t at = 10;
  for (int k = 0; k < 20; ++k) {
    if (k == 9) {
      group.Send(at, at + 4);  // packets are lost; the rest follows after a timeout
      at += 80;
      group.Send(at, at + 6);
    } else {
      group.Send(at, at + 10);
    }
    at += 30;
  }
  const auto found = group.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 19u);
  EXPECT_NEAR(found->period, (19 * 30 + 80) / 19.0, 0.1);
}

TEST(CompleteIterations, PhasesOnDifferentChannelsAreOneIteration) {
  Group group;
  for (size_t k = 0; k < 20; ++k) {
    group.Send(10 + 60 * k, 20 + 60 * k, {0, 1});
    group.Send(40 + 60 * k, 50 + 60 * k, {2, 3});
  }
  const auto found = group.Find();
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->period, 60, 0.1);
}

TEST(CompleteIterations, StepsOfACollectiveAreNoIterations) {
  Group group;
  for (size_t k = 0; k < 10; ++k) {
    for (size_t step = 0; step < 4; ++step) {
      group.Send(10 + 200 * k + 10 * step, 15 + 200 * k + 10 * step);
    }
  }
  const auto found = group.Find();
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->period, 200, 1);
}

TEST(CompleteIterations, IrregularBurstsHaveNone) {
  Group group;
  size_t at = 10;
  for (size_t k = 1; k < 30; ++k) {
    group.Send(at, at + 5);
    at += 12 + (k * k * 37) % 101;
  }
  EXPECT_FALSE(group.Find());
}

}  // namespace
}  // namespace rocescope
