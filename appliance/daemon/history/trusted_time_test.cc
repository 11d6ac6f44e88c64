// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/trusted_time.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

class TrustedTimeTest : public testing::Test {
 protected:
  static constexpr Timestamp kNow =
      FromNanoseconds(0) + std::chrono::hours(24 * 20'000);  // in 2024
  static constexpr Duration kYear = std::chrono::hours(24 * 365);
  static constexpr Duration kUp = std::chrono::hours(7);  // monotonic clock at the start

  // Starts a process after a trusted time `stored`.
  void Start(std::optional<TrustedTimeState> stored, Timestamp clock) {
    clock_ = clock;
    monotonic_ = kUp;
    time_.emplace(stored, clock, monotonic_);
  }
  void Restart(Timestamp clock) { Start(time_->state(), clock); }
  // The clock runs steadily.
  void Run(Duration time) {
    constexpr Duration kStep = std::chrono::minutes(2);
    for (Duration passed{}; passed < time; passed += kStep) {
      clock_ += kStep;
      monotonic_ += kStep;
      time_->Observe(clock_, monotonic_);
    }
  }
  void SetClock(Timestamp clock) {
    clock_ = clock;
    time_->Observe(clock_, monotonic_);
  }

  Timestamp clock_;
  Duration monotonic_{};
  std::optional<TrustedTime> time_;
};

TEST_F(TrustedTimeTest, FollowsAClockThatAgrees) {
  Start({{.trusted = kNow}}, kNow + std::chrono::hours(20));
  EXPECT_EQ(time_->now(), kNow + std::chrono::hours(20)) << "the appliance was off";
  Run(std::chrono::hours(24 * 40));
  EXPECT_EQ(time_->now(), clock_);
  SetClock(clock_ - std::chrono::minutes(1));
  EXPECT_EQ(time_->now(), clock_);
  EXPECT_EQ(time_->state(), TrustedTimeState{.trusted = clock_});
}

TEST_F(TrustedTimeTest, TrustsTheClockWithoutAStoredTime) {
  Start(std::nullopt, kNow);
  EXPECT_EQ(time_->now(), kNow);
}

TEST_F(TrustedTimeTest, ClockAheadAtTheStartIsNotTrusted) {
  Start({{.trusted = kNow}}, kNow + 10 * kYear);
  EXPECT_EQ(time_->now(), std::nullopt);
  EXPECT_EQ(time_->ahead(), 10 * kYear);
  Run(std::chrono::hours(5));
  EXPECT_EQ(time_->now(), std::nullopt);
  EXPECT_EQ(time_->state().trusted, kNow + std::chrono::hours(5)) << "monotonic time only";
  EXPECT_EQ(time_->remaining(), TrustedTime::kConfirmation - std::chrono::hours(5));
  SetClock(kNow + std::chrono::hours(5) + std::chrono::minutes(1));
  EXPECT_EQ(time_->now(), clock_) << "corrected";
  EXPECT_EQ(time_->remaining(), Duration{});
}

TEST_F(TrustedTimeTest, JumpWhileRunningIsNotTrusted) {
  for (const Duration jump : {10 * kYear, -10 * kYear, Duration(std::chrono::hours(25)),
                              Duration(-std::chrono::hours(25))}) {
    Start({{.trusted = kNow}}, kNow);
    Run(std::chrono::hours(1));
    SetClock(clock_ + jump);
    EXPECT_EQ(time_->now(), std::nullopt) << jump.count();
    EXPECT_EQ(time_->ahead(), jump);
    EXPECT_EQ(time_->state().trusted, kNow + std::chrono::hours(1));
  }
}

TEST_F(TrustedTimeTest, ManySmallJumpsAreNotTrusted) {
  Start({{.trusted = kNow}}, kNow);
  for (int i = 0; i < 100; ++i) SetClock(clock_ + std::chrono::hours(20));
  EXPECT_EQ(time_->now(), std::nullopt);
}

TEST_F(TrustedTimeTest, LongOutageIsTrustedAfterASteadyPeriod) {
  Start({{.trusted = kNow}}, kNow + std::chrono::hours(24 * 90));
  Run(TrustedTime::kConfirmation - std::chrono::minutes(10));
  EXPECT_EQ(time_->now(), std::nullopt);
  Run(std::chrono::minutes(10));
  EXPECT_EQ(time_->now(), clock_);
  Run(std::chrono::hours(100));
  EXPECT_EQ(time_->now(), clock_);
}

TEST_F(TrustedTimeTest, ClockSetBackIsTrustedAfterASteadyPeriod) {
  Start({{.trusted = kNow + 10 * kYear}}, kNow);
  Run(TrustedTime::kConfirmation);
  EXPECT_EQ(time_->now(), clock_);
  EXPECT_LT(clock_, kNow + kYear);
}

TEST_F(TrustedTimeTest, UnsteadyClockIsNotTrusted) {
  Start({{.trusted = kNow}}, kNow + kYear);
  for (int day = 0; day < 30; ++day) {
    Run(std::chrono::hours(24));
    SetClock(clock_ + std::chrono::hours(1));
  }
  EXPECT_EQ(time_->now(), std::nullopt);
}

TEST_F(TrustedTimeTest, SteadyPeriodContinuesAfterARestart) {
  Start({{.trusted = kNow}}, kNow + kYear);
  Run(std::chrono::hours(40));
  Restart(clock_ + std::chrono::minutes(3));
  EXPECT_EQ(time_->now(), std::nullopt);
  EXPECT_EQ(time_->remaining(), TrustedTime::kConfirmation - std::chrono::hours(40));
  Run(std::chrono::hours(32));
  EXPECT_EQ(time_->now(), clock_);
}

TEST_F(TrustedTimeTest, RestartWithAnotherClockBeginsTheSteadyPeriodAgain) {
  for (const Duration jump : {kYear, -kYear / 2, Duration(std::chrono::hours(25))}) {
    Start({{.trusted = kNow}}, kNow + kYear);
    Run(std::chrono::hours(40));
    Restart(clock_ + jump);
    EXPECT_EQ(time_->remaining(), TrustedTime::kConfirmation) << jump.count();
  }
}

TEST_F(TrustedTimeTest, StoredTimesOutOfRangeAreHarmless) {
  Start({{.trusted = FromNanoseconds(INT64_MAX),
          .candidate = FromNanoseconds(INT64_MIN),
          .confirmed = Duration::max()}},
        kNow);
  EXPECT_EQ(time_->now(), std::nullopt);
  EXPECT_EQ(time_->remaining(), TrustedTime::kConfirmation);
}

}  // namespace
}  // namespace rocescope
