// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/error_rate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace rocescope {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Adds intervals of one length, one after another.
class ErrorRate : public testing::Test {
 protected:
  std::optional<ErrorRateTest::Excess> Add(Duration length, uint64_t errors, double frames) {
    const Timestamp from = now_;
    now_ += length;
    return test_.Add(from, now_, errors, frames, options_);
  }

  ErrorRateOptions options_;
  ErrorRateTest test_;
  const Timestamp begin_{hours(24 * 365 * 50)};
  Timestamp now_ = begin_;
};

TEST_F(ErrorRate, OneErrorIsNeverAnAlarm) {
  for (const double frames : {10.0, 1e3, 1e6, 1e9}) {
    test_ = {};
    EXPECT_FALSE(Add(seconds(30), 1, frames)) << frames;
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(Add(seconds(30), 0, frames));
  }
}

TEST_F(ErrorRate, OneBurstIsNoAlarm) {
  for (const uint64_t errors : {5u, 50u, 500u}) {
    test_ = {};
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(Add(seconds(30), 0, 1e6));
    EXPECT_FALSE(Add(seconds(30), errors, 1e6)) << errors;
  }
}

TEST_F(ErrorRate, ContinuedDamageIsAnAlarmWithItsBeginAndCounts) {
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(Add(seconds(30), i == 500 ? 1 : 0, 1e7));
  const Timestamp onset = now_;
  std::optional<ErrorRateTest::Excess> excess;
  int intervals = 0;
  while (!excess && ++intervals < 100) excess = Add(seconds(30), 90 + intervals % 20, 1e7);
  ASSERT_TRUE(excess);
  EXPECT_LE(intervals, 4);
  EXPECT_EQ(excess->from, onset);
  EXPECT_NEAR(static_cast<double>(excess->errors), 100 * intervals, 10 * intervals);
  EXPECT_EQ(excess->frames, 1e7 * intervals);
}

// At 10 and at 100 times the tolerated rate, 30 s with 10 million frames each.
TEST_F(ErrorRate, DamageIsFoundTheSoonerTheStrongerItIs) {
  std::mt19937_64 random(7);
  const auto median = [&](double rate) {
    std::vector<int> all;
    for (int run = 0; run < 101; ++run) {
      test_ = {};
      std::poisson_distribution<uint64_t> errors(rate * 1e7);
      int intervals = 1;
      while (!Add(seconds(30), errors(random), 1e7) && intervals < 2000) ++intervals;
      all.push_back(intervals);
    }
    std::ranges::nth_element(all, all.begin() + 50);
    return all[50];
  };
  EXPECT_LE(median(1e-7), 60) << "half an hour";
  EXPECT_LE(median(1e-6), 12) << "six minutes";
  EXPECT_LE(median(1e-4), 5) << "two and a half minutes";
}

// A day of a link, thousands of times, with damage at the tolerated rate: single frames, or bursts
// as improbable as the null hypothesis says; 0.01 to 0.5 of them in an interval, or 1 to 50.
TEST_F(ErrorRate, FalseAlarmsAreAsRareAsStated) {
  options_.alarms_a_day = 0.02;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  for (const auto& [bursts, least] :
       {std::pair(false, 1e6), std::pair(true, 1e6), std::pair(false, 1e8)}) {
    int alarms = 0;
    constexpr int kDays = 2000;
    for (int day = 0; day < kDays; ++day) {
      test_ = {};
      for (int i = 0; i < 288; ++i) {  // each 5 minutes
        const double frames = least * std::exp(4 * uniform(random));
        uint64_t errors = std::poisson_distribution<uint64_t>(1e-8 * frames)(random);
        if (bursts && errors > 0) {
          // P(N >= n) is about 6 / (pi^2 n).
          errors = static_cast<uint64_t>(std::ceil(0.61 / (1 - uniform(random))));
        }
        alarms += Add(std::chrono::minutes(5), errors, frames).has_value();
      }
    }
    const double bound = options_.alarms_a_day * kDays * (1 + 1.0 / 24);
    EXPECT_LE(alarms, bound + 3 * std::sqrt(bound)) << bursts << least;
  }
}

// The same damage, read each millisecond or once a second.
TEST_F(ErrorRate, WorksAtAnyReadingPeriod) {
  const auto detect = [&](Duration period) {
    test_ = {};
    now_ = begin_;
    std::mt19937_64 random(3);
    const auto share = static_cast<double>(period.count()) * 1e-9;
    std::poisson_distribution<uint64_t> errors(1e7 * share * 1e-4);
    while (!Add(period, errors(random), 1e7 * share) && now_ - begin_ < hours(1)) {
    }
    return now_ - begin_;
  };
  EXPECT_LE(detect(milliseconds(1)), milliseconds(50));
  EXPECT_LE(detect(seconds(1)), seconds(6));
}

}  // namespace
}  // namespace rocescope
