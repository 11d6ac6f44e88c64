// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/loss_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace rocescope {
namespace {

Timestamp At(double time) { return Timestamp(Duration(static_cast<int64_t>(time * 1e9))); }

CounterMoment Moment(double after, double until, uint64_t value) {
  return {.after = At(after), .until = At(until), .least = value, .most = value};
}

TEST(LossBounds, CountersThatAreReadApartProveNothingWhileTheLinkIsBusy) {
  LossBounds bounds;
  for (int i = 0; i < 100; ++i) {
    const auto sent = static_cast<uint64_t>(1000 * i);
    bounds.AddSent(Moment(i - 1, i, sent), Duration(0));
    bounds.AddReceived(Moment(i - 0.7, i + 0.3, sent + 250), Duration(0));
    EXPECT_EQ(bounds.lost(), 0u);
  }
  ASSERT_TRUE(bounds.uncertainty());
  EXPECT_GE(bounds.uncertainty()->frames, 1000u);
}

// The link is idle from 3 to 13 s and from 23 s on. It loses 70 of the 1000 frames in between.
TEST(LossBounds, IdleTimesMakeThemExact) {
  LossBounds bounds;
  for (int i = 0; i < 40; ++i) {
    const auto value = [](double time) {
      if (time < 3) return 500.0 * time;
      if (time < 13) return 1500.0;
      return 1500 + 100 * std::min(10.0, time - 13);
    };
    const double at = i + 0.3;
    const double lost = 0.07 * std::max(0.0, value(at) - 1500);
    bounds.AddSent(Moment(i - 1, i, static_cast<uint64_t>(value(i))), Duration(0));
    bounds.AddReceived(Moment(at - 1, at, static_cast<uint64_t>(5000 + value(at) - lost)),
                       Duration(0));
  }
  EXPECT_EQ(bounds.lost(), 70u);
  ASSERT_TRUE(bounds.uncertainty());
  EXPECT_EQ(bounds.uncertainty()->frames, 0u);
  ASSERT_TRUE(bounds.intact());
  EXPECT_GE(bounds.intact()->until, At(4));
  EXPECT_LE(bounds.intact()->until, At(14));
  EXPECT_EQ(bounds.intact()->sent, 1500u);
  EXPECT_EQ(bounds.surplus(), 0u);
}

// The receiver counts the frames of another link, which carries more and pauses at the same times.
TEST(LossBounds, SurplusShowsThatTheEndsDoNotBelongTogether) {
  LossBounds bounds;
  for (int i = 0; i < 60; ++i) {
    const auto sent = static_cast<uint64_t>(i < 10 ? 0 : 100 * std::min(10, i - 10));
    bounds.AddSent(Moment(i - 1, i, sent), Duration(0));
    bounds.AddReceived(Moment(i - 0.5, i + 0.5, i < 30 ? sent : 3 * sent), Duration(0));
  }
  EXPECT_GE(bounds.surplus(), 1900u);
}

TEST(LossBounds, RestartForgetsWhatWasBefore) {
  LossBounds bounds;
  bounds.AddSent(Moment(0, 1, 100), Duration(0));
  bounds.AddReceived(Moment(1, 2, 100), Duration(0));
  bounds.AddSent(Moment(2, 3, 100), Duration(0));
  bounds.Restart();
  bounds.AddReceived(Moment(4, 5, 0), Duration(0));
  bounds.AddSent(Moment(5, 6, 100), Duration(0));
  bounds.AddReceived(Moment(7, 8, 0), Duration(0));
  EXPECT_EQ(bounds.lost(), 0u);
}

// Random traffic with pauses, random moments within the intervals, clocks that differ, losses.
TEST(LossBounds, NeverClaimMoreThanWasLost) {
  constexpr double kClock = 0.05;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform;
    // Frames sent and lost until each hundredth of a second.
    std::vector<uint64_t> sent = {0};
    std::vector<uint64_t> lost = {0};
    const double ratio = seed % 2 == 0 ? 0 : 0.01 * uniform(random);
    bool busy = true;
    for (int i = 0; i < 60'000; ++i) {
      if (uniform(random) < 0.002) busy = !busy;
      const uint64_t frames = busy ? std::poisson_distribution<uint64_t>(200)(random) : 0;
      sent.push_back(sent.back() + frames);
      lost.push_back(lost.back() + std::binomial_distribution<uint64_t>(frames, ratio)(random));
    }
    const double offset = kClock * (2 * uniform(random) - 1);  // the receiver's clock
    LossBounds bounds;
    double a = 0;
    double b = uniform(random);
    while (std::max(a, b) < 590) {
      const auto index = [](double time) { return static_cast<size_t>(std::max(0.0, time * 100)); };
      if (a < b) {
        const double next = a + 5 + uniform(random);
        const double moment = a + (next - a) * uniform(random);
        bounds.AddSent(Moment(a, next, sent[index(moment)]), Duration(50'000'000));
        a = next;
      } else {
        const double next = b + 7 + uniform(random);
        const double moment = b + (next - b) * uniform(random) - offset;
        const size_t at = index(moment);
        bounds.AddReceived(Moment(b, next, 777 + sent[at] - lost[at]), Duration(50'000'000));
        b = next;
      }
      ASSERT_LE(bounds.lost(), lost.back()) << seed;
      ASSERT_EQ(bounds.surplus(), 0u) << seed;
    }
    // Two idle times are enough to see most of a strong loss.
    if (ratio > 0.005) {
      EXPECT_GE(bounds.lost(), lost.back() / 3) << seed;
    }
  }
}

}  // namespace
}  // namespace rocescope
