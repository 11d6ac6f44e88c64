// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/onset_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace rocescope {
namespace {

constexpr uint32_t kNics = 8;

// One channel from each NIC to the next, for each step of an iteration.
class Job {
 public:
  // Channels [from_channel, to_channel) of a step send in the slots [from, to).
  void Send(size_t step, size_t from, size_t to, uint32_t from_channel = 0,
            uint32_t to_channel = kNics) {
    if (step >= steps_.size()) steps_.resize(step + 1, std::vector<Bits>(kNics));
    for (uint32_t channel = from_channel; channel < to_channel; ++channel) {
      for (size_t i = from; i < to; ++i) steps_[step][channel].Set(i);
    }
    length_ = std::max(length_, to);
  }

  std::optional<Iterations> Find() const {
    std::vector<ClockChannel> channels;
    std::vector<const Bits*> series;
    for (const std::vector<Bits>& step : steps_) {
      for (uint32_t channel = 0; channel < kNics; ++channel) {
        if (step[channel].IsEmpty()) continue;
        channels.push_back(
            {.source = channel, .destination = (channel + 1) % kNics, .bits = &step[channel]});
        series.push_back(channels.back().bits);
      }
    }
    return FindIterationsByOnsets(channels, length_, FindPeriods(series, length_).all);
  }

 private:
  std::vector<std::vector<Bits>> steps_;
  size_t length_ = 0;
};

// The second step of the stalled iteration is not the start of the next one, although a long quiet
// time precedes it.
TEST(OnsetClock, AStallBetweenTwoStepsDoesNotShiftTheStarts) {
  Job job;
  size_t at = 10;
  for (int k = 0; k < 24; ++k) {
    job.Send(0, at, at + 6);
    const size_t stall = k == 11 ? 45 : 0;
    job.Send(1, at + stall + 18, at + stall + 32);
    at += stall + 44;
  }
  const auto found = job.Find();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->count(), 23u);
  for (size_t k = 0; k < found->begins.size(); ++k) {
    EXPECT_EQ(found->begins[k], 10 + 44.0 * k + (k > 11 ? 45 : 0)) << k;
  }
}

TEST(OnsetClock, OtherTrafficInAllQuietTimesHidesNoStart) {
  Job job;
  for (size_t k = 0; k < 24; ++k) job.Send(0, 10 + 40 * k, 18 + 40 * k, 0, kNics);
  for (size_t i = 0; i < 960; i += 3) job.Send(1, i, i + 1, i / 3 % kNics, i / 3 % kNics + 1);
  const auto found = job.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 23u);
  EXPECT_NEAR(found->period, 40, 0.1);
}

TEST(OnsetClock, RetransmissionsOfMostChannelsAddNoIteration) {
  Job job;
  size_t at = 10;
  for (int k = 0; k < 24; ++k) {
    job.Send(0, at, at + (k == 9 || k == 15 ? 3 : 9));
    if (k == 9 || k == 15) {
      job.Send(0, at + 27, at + 28, 0, 6);
      job.Send(0, at + 60, at + 66);
      at += 60;
    }
    at += 40;
  }
  const auto found = job.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 23u);
}

TEST(OnsetClock, AJobThatStopsAmidRetransmissionsStartsNoFurtherIteration) {
  Job job;
  size_t at = 10;
  for (int k = 0; k < 20; ++k, at += 40) job.Send(0, at, at + 10);
  for (int k = 0; k < 8; ++k, at += 40) job.Send(0, at, at + 1, 0, 5);
  job.Send(0, 1800, 1801, 0, 1);
  const auto found = job.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 19u);
}

TEST(OnsetClock, AnIterationInWhichSomeChannelsAreMissingCounts) {
  Job job;
  for (size_t k = 0; k < 24; ++k) job.Send(0, 10 + 40 * k, 18 + 40 * k, 0, k % 5 == 2 ? 5 : 8);
  const auto found = job.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 23u);
}

// After the restart, the job uses other queue pairs.
TEST(OnsetClock, CountsTheIterationsBeforeAndAfterARestart) {
  Job job;
  for (size_t k = 0; k < 12; ++k) job.Send(0, 10 + 40 * k, 18 + 40 * k);
  for (size_t k = 0; k < 12; ++k) job.Send(1, 610 + 40 * k, 618 + 40 * k);
  const auto found = job.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 23u);
}

// Checkpoints and congestion change the length of most iterations, so that they do not repeat at
// the period but, by chance, at twice the period.
TEST(OnsetClock, FindsAPeriodAtWhichTheActivityDoesNotRepeat) {
  Job job;
  size_t at = 10;
  for (int k = 0; k < 30; ++k) {
    job.Send(0, at, at + 8);
    at += k % 2 == 0 ? 47 : 53;
  }
  const auto found = job.Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count(), 29u);
  EXPECT_NEAR(found->period, 50, 0.3);
}

TEST(OnsetClock, TrafficWithoutAPeriodHasNoIterations) {
  Job job;
  for (const size_t at : {10, 25, 90, 130, 300, 310, 420, 640, 655, 900}) job.Send(0, at, at + 4);
  EXPECT_FALSE(job.Find());
}

}  // namespace
}  // namespace rocescope
