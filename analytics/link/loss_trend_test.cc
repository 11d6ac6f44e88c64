// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/loss_trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>

namespace rocescope {
namespace {

using std::chrono::seconds;

// A link that is never idle. It carries 1,000,000 frames per second in one direction in bursts of
// 6 s every 8 s, and a quarter of that in the other direction. Its ends are polled every 30 s, 13 s
// apart, and answer from caches of up to 10 s.
class LossTrendTest : public testing::TestWithParam<unsigned> {
 protected:
  double SentUntil(double time) const {
    constexpr double kPeriod = 8;
    constexpr double kBusy = 6;
    constexpr double kRest = 0.1;  // share of the rate that remains between bursts
    const double whole = std::floor(time / kPeriod);
    const double part = time - kPeriod * whole;
    const double bursts = whole * (kBusy + kRest * (kPeriod - kBusy)) + std::min(part, kBusy) +
                          kRest * std::max(part - kBusy, 0.0);
    const double more = std::max(time - faster_from_, 0.0);  // the rate doubles
    return 1e6 * (bursts + more);
  }
  double LostUntil(double time) const {
    return ratio_ * std::max(SentUntil(std::min(time, until_)) - SentUntil(from_), 0.0);
  }
  double OtherUntil(double time) const { return other_ * SentUntil(time); }

  // Time since which the values in the cache are known, for a poll at this time.
  double CachedAt(double time) { return std::max(time - cache_ * uniform_(random_), 0.0); }

  void Run(int polls) {
    double sent = 0;      // by the first end
    double received = 0;  // by the first end, from the other direction
    for (int i = 1; i <= polls; ++i, ++polls_) {
      const double now = 30.0 * polls_ + 3 * uniform_(random_);
      const double first = CachedAt(now);
      sent = SentUntil(first);
      received = OtherUntil(first);
      if (polls_ > 0) Compare(sent, received, now);
      const double later = now + 13 + 3 * uniform_(random_);
      const double second = CachedAt(later);
      other_received_ = SentUntil(second) - LostUntil(second);
      other_sent_ = OtherUntil(second);
      Compare(sent, received, later);
    }
  }
  // What the first end sent and received, and what the second end did.
  void Compare(double sent, double received, double now) {
    trend_.Add({.missing = static_cast<int64_t>(sent) - static_cast<int64_t>(other_received_),
                .missing_other = static_cast<int64_t>(other_sent_) - static_cast<int64_t>(received),
                .sent = static_cast<uint64_t>(sent),
                .received = static_cast<uint64_t>(received),
                .time = Timestamp(std::chrono::nanoseconds(static_cast<int64_t>(now * 1e9)))});
  }

  double ratio_ = 0;
  double from_ = 0;
  double until_ = 1e9;
  double faster_from_ = 1e9;
  double other_ = 0.25;
  double cache_ = 10;
  int polls_ = 0;
  double other_received_ = 0;
  double other_sent_ = 0;
  std::mt19937 random_{GetParam()};
  std::uniform_real_distribution<double> uniform_{0, 1};
  LossTrend trend_;
};

TEST_P(LossTrendTest, LinkWithoutLossHasNone) {
  Run(5000);
  EXPECT_FALSE(trend_.loss()) << trend_.loss()->frames;
}

TEST_P(LossTrendTest, MoreTrafficIsNoLoss) {
  faster_from_ = 30'000;
  Run(5000);
  EXPECT_FALSE(trend_.loss()) << trend_.loss()->frames;
}

// In 30 s, this is less than 0.01 s of traffic, while the readings are 13 s apart.
TEST_P(LossTrendTest, LossOfOneInThreeThousandIsFound) {
  ratio_ = 3e-4;
  from_ = 30'000;
  Run(1000);
  EXPECT_FALSE(trend_.loss());
  Run(1000);
  ASSERT_TRUE(trend_.loss());
  const LossTrend::Loss& loss = *trend_.loss();
  const double lost = LostUntil(60'000);
  EXPECT_NEAR(loss.frames, lost, 0.2 * lost);
  EXPECT_NEAR(static_cast<double>(loss.from.time_since_epoch().count()) * 1e-9, from_, 4000);
  EXPECT_FALSE(loss.is_over);
  EXPECT_LT(loss.detected_at, Timestamp(seconds(52'000)));
}

TEST_P(LossTrendTest, LossThatTheDataBeginWithIsFound) {
  ratio_ = 3e-4;
  Run(2000);
  ASSERT_TRUE(trend_.loss());
  EXPECT_LT(trend_.loss()->from, Timestamp(seconds(10'000)));
}

TEST_P(LossTrendTest, LossIsOverIfItStops) {
  ratio_ = 3e-3;
  from_ = 30'000;
  until_ = 45'000;
  Run(1400);
  ASSERT_TRUE(trend_.loss());
  Run(600);
  ASSERT_TRUE(trend_.loss());
  EXPECT_TRUE(trend_.loss()->is_over);
  EXPECT_NEAR(static_cast<double>(trend_.loss()->last.time_since_epoch().count()) * 1e-9, until_,
              4000);
  const LossTrend::Loss before = *trend_.loss();
  Run(3000);
  EXPECT_EQ(trend_.loss()->last, before.last) << "nothing is lost since then";
}

TEST_P(LossTrendTest, NothingIsKnownAcrossARestart) {
  ratio_ = 3e-3;
  Run(30);
  trend_.Restart();
  Run(30);
  EXPECT_FALSE(trend_.loss()) << "too few readings";
}

TEST_P(LossTrendTest, OneDirectionAloneShowsNothing) {
  other_ = 0;
  ratio_ = 3e-3;
  Run(2000);
  EXPECT_FALSE(trend_.loss());
}

INSTANTIATE_TEST_SUITE_P(Seeds, LossTrendTest, testing::Range(1U, 6U));

}  // namespace
}  // namespace rocescope
