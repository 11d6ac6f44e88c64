// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/retainer.h"

#include <gmock/gmock.h>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/row_writer.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RetainerTest : public HistoryTest {
 protected:
  static constexpr Timestamp kNow =
      FromNanoseconds(0) + std::chrono::hours(24 * 20'000);  // in 2024
  static constexpr Duration kYear = std::chrono::hours(24 * 365);
  static constexpr int kDays = 120;  // days of history, of which 30 are beyond the retention time

  RetainerTest() : database_(OpenHistory(file_, kNow, EventPublisher()).value()) {
    retention_.keep_events = std::chrono::hours(24 * 90);
    retention_.keep_series = std::chrono::hours(24 * 90);
    std::vector<HistoryRow> rows;
    for (int hour = 0; hour < 24 * kDays; ++hour) {
      const Timestamp at = kNow - std::chrono::hours(hour);
      rows.emplace_back(EventAt(ToNanoseconds(at)));
      rows.emplace_back(LinkAt(IntervalIndex(at, kMinute), "p", 1));
    }
    RowWriter(database_).Write(rows);
  }

  void Start(Timestamp clock) {
    clock_ = clock;
    monotonic_ = std::chrono::hours(7);
    retainer_ = std::make_unique<Retainer>(file_, retention_, EventPublisher());
    retainer_->Begin(database_, clock_, monotonic_);
    retainer_->Count(database_);
  }
  void Run(Duration time) {
    constexpr Duration kStep = std::chrono::minutes(2);
    for (Duration passed{}; passed < time; passed += kStep) {
      clock_ += kStep;
      monotonic_ += kStep;
      while (retainer_->Step(database_, clock_, monotonic_)) {
      }
    }
  }
  int64_t Events() { return CountRows(database_)[0]; }

  SQLite::Database database_;
  Retention retention_ = kForEver;
  Timestamp clock_;
  Duration monotonic_{};
  std::unique_ptr<Retainer> retainer_;
};

TEST_F(RetainerTest, PurgeIsLimitedPerHourAndLogged) {
  Start(kNow);
  Run(std::chrono::hours(1));
  EXPECT_GE(Events(), kDays * 24 * 23 / 24);
  EXPECT_LT(Events(), kDays * 24);
  EXPECT_THAT(notices_, Contains(HasSubstr("deleted within about a day")));
  Run(std::chrono::hours(24));
  EXPECT_NEAR(static_cast<double>(Events()), 90 * 24 - 25, 2);
  EXPECT_EQ(CountRows(database_)[1], Events());
  EXPECT_THAT(notices_, Contains(AllOf(HasSubstr("deleted"), HasSubstr("events"),
                                       HasSubstr("older than the retention time"))));
  EXPECT_LE(notices_.size(), 1 + 25u) << "at most one message per hour";
  EXPECT_EQ(retainer_->state().deleted_by_age, 2 * (kDays * 24 - static_cast<uint64_t>(Events())));
}

TEST_F(RetainerTest, ClockTenYearsAheadDeletesNothingForDays) {
  Start(kNow);
  Start(kNow + 10 * kYear);
  Run(TrustedTime::kConfirmation - std::chrono::minutes(2));
  EXPECT_EQ(Events(), kDays * 24);
  EXPECT_TRUE(retainer_->state().is_suspended);
  EXPECT_THAT(SuspensionText(retainer_->state()),
              AllOf(HasSubstr("2034-"), HasSubstr("3650 days ahead of"), HasSubstr("2024-")));
  EXPECT_THAT(notices_, Contains(HasSubstr("the clock is corrected, or after 3 days")));
  notices_.clear();
  Run(std::chrono::hours(1));
  EXPECT_GE(Events(), kDays * 24 * 23 / 24) << "limited";
  EXPECT_THAT(notices_, Contains(HasSubstr("trusted again")));
}

TEST_F(RetainerTest, CorrectedClockEndsTheSuspension) {
  Start(kNow);
  Start(kNow + 10 * kYear);
  Run(std::chrono::hours(2));
  clock_ = kNow + std::chrono::hours(2);
  Run(std::chrono::hours(25));
  EXPECT_FALSE(retainer_->state().is_suspended);
  EXPECT_NEAR(static_cast<double>(Events()), 89 * 24, 4) << "measured against the correct time";
}

TEST_F(RetainerTest, FileOfAnEarlierVersionIsProtected) {
  EXPECT_FALSE(database_.tableExists("trusted_time"));
  // An earlier version has stored rows while the clock was wrong.
  RowWriter(database_).Write(
      std::vector<HistoryRow>{EventAt(ToNanoseconds(kNow + 9 * kYear)),
                              LinkAt(IntervalIndex(kNow + 9 * kYear, kMinute), "p", 1)});
  Start(kNow + 9 * kYear);
  Run(std::chrono::hours(24));
  EXPECT_TRUE(retainer_->state().is_suspended);
  EXPECT_EQ(Events(), kDays * 24 + 1);
  Start(kNow + std::chrono::hours(3));
  EXPECT_FALSE(retainer_->state().is_suspended);
}

TEST_F(RetainerTest, RowsOfAWrongClockNeverMoveTheTrustedTime) {
  Start(kNow);
  for (int restart = 0; restart < 20; ++restart) {
    Start(kNow + 10 * kYear + std::chrono::hours(restart));
    const std::vector<HistoryRow> rows = {EventAt(ToNanoseconds(clock_))};
    retainer_->Wrote(RowWriter(database_).Write(rows));
    Run(std::chrono::minutes(2));
    ASSERT_TRUE(retainer_->state().is_suspended);
  }
  Start(kNow + std::chrono::hours(1));
  EXPECT_FALSE(retainer_->state().is_suspended);
}

TEST_F(RetainerTest, ClockSetBackKeepsRowsAndReportsThoseOfTheFuture) {
  Start(kNow);
  Start(kNow - kYear);
  Run(std::chrono::hours(1));
  EXPECT_TRUE(retainer_->state().is_suspended);
  EXPECT_THAT(SuspensionText(retainer_->state()), HasSubstr("365 days behind"));
  EXPECT_EQ(retainer_->state().future.rows, 0);
  Run(TrustedTime::kConfirmation);
  EXPECT_FALSE(retainer_->state().is_suspended);
  EXPECT_EQ(Events(), kDays * 24);
  EXPECT_EQ(retainer_->state().future.rows, 2 * kMostFutureRows);
  EXPECT_EQ(retainer_->state().future.newest, kNow);
}

TEST_F(RetainerTest, RestartsDoNotIncreaseTheRateOfAPurge) {
  for (int restart = 0; restart < 500; ++restart) {
    Start(kNow + std::chrono::minutes(restart));
    retainer_->Step(database_, clock_, monotonic_);
  }
  EXPECT_EQ(Events(), kDays * 24);
}

TEST_F(RetainerTest, NormalOperationIsNotLogged) {
  retention_.keep_events = retention_.keep_series = kForEver.keep_events;
  Start(kNow);
  Run(std::chrono::hours(50));
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(RetainerTest, SteadyPeriodContinuesAfterARestart) {
  Start(kNow);
  Start(kNow + kYear);
  Run(std::chrono::hours(40));
  Start(clock_);
  EXPECT_EQ(retainer_->state().remaining, std::chrono::hours(32));
}

}  // namespace
}  // namespace rocescope
