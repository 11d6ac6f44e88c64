// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/retention.h"

#include <gmock/gmock.h>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/link_table.h"
#include "appliance/daemon/history/row_writer.h"

namespace rocescope {
namespace {

constexpr Timestamp Hours(int64_t hours) { return FromNanoseconds(0) + std::chrono::hours(hours); }

class RetentionTest : public HistoryTest {
 protected:
  RetentionTest() : database_(OpenHistory(file_, FromNanoseconds(0), EventPublisher()).value()) {}

  // Writes an event for each of the hours 0 to `hours`, and two links and a job for the first
  // minute of each.
  void WriteHours(int hours, size_t bytes = 10) {
    std::vector<HistoryRow> rows;
    for (int hour = 0; hour < hours; ++hour) {
      rows.emplace_back(PastEvent{
          .at_ns = ToNanoseconds(Hours(hour)), .jobs = {"j"}, .message = std::string(bytes, 'x')});
      rows.emplace_back(LinkAt(hour * 60, "p", 1));
      rows.emplace_back(LinkAt(hour * 60, "q", 1));
      rows.emplace_back(JobMinute{.minute = hour * 60, .job = "j" + std::to_string(hour)});
    }
    RowWriter(database_).Write(rows);
  }
  int64_t Count(const std::string& table) {
    return database_.execAndGet("SELECT count(*) FROM " + table).getInt64();
  }
  int RetainAll(const Retention& retention, Timestamp now) {
    int steps = 1;
    while (true) {
      if (!Retain(database_, retention, now, kAllRows).more || steps > 1000) return steps;
      ++steps;
    }
  }

  SQLite::Database database_;
};

TEST_F(RetentionTest, DeletesOldMinutesAndKeepsEventsLonger) {
  WriteHours(100);
  Retention retention = kForEver;
  retention.keep_events = std::chrono::hours(50);
  retention.keep_series = std::chrono::hours(10);
  RetainAll(retention, Hours(100));
  EXPECT_EQ(Count("events"), 50) << "of the hours 50 to 99";
  EXPECT_EQ(Count("event_jobs"), 50);
  EXPECT_EQ(Count("link_minutes"), 20) << "two links in the hours 90 to 99";
  EXPECT_EQ(Count("job_minutes"), 10);
  EXPECT_EQ(Count("jobs"), 10) << "names of other jobs are deleted";
  EXPECT_EQ(database_.execAndGet("SELECT min(minute) FROM link_minutes").getInt64(), 90 * 60);
}

TEST_F(RetentionTest, DeletesNothingWithinTheRetentionTime) {
  WriteHours(100);
  EXPECT_EQ(RetainAll(kForEver, Hours(100)), 1);
  EXPECT_EQ(Count("events"), 100);
  EXPECT_EQ(Count("link_minutes"), 200);
}

TEST_F(RetentionTest, StepDeletesALimitedNumberOfRows) {
  WriteHours(2 * kRowsAStep);
  Retention retention = kForEver;
  retention.keep_events = std::chrono::hours(1);
  ASSERT_EQ(Retain(database_, retention, Hours(100'000), kAllRows).more, true);
  EXPECT_EQ(Count("events"), kRowsAStep);
  RetainAll(retention, Hours(100'000));
  EXPECT_EQ(Count("events"), 0);
  EXPECT_EQ(Count("link_minutes"), 4 * kRowsAStep);
}

TEST_F(RetentionTest, LargeFileLosesMinutesFirstAndShrinks) {
  WriteHours(2000);
  const int64_t pages = database_.execAndGet("PRAGMA page_count").getInt64();
  Retention retention = kForEver;
  retention.max_bytes = static_cast<uint64_t>(pages) * 4096 * 3 / 4;
  RetainAll(retention, Hours(2000));
  EXPECT_EQ(Count("events"), 2000);
  EXPECT_GT(Count("link_minutes"), 0);
  EXPECT_LT(Count("link_minutes"), 4000);
  EXPECT_EQ(database_.execAndGet("SELECT max(minute) FROM link_minutes").getInt64(), 1999 * 60);
  EXPECT_LT(database_.execAndGet("PRAGMA page_count").getInt64() * 4096,
            static_cast<int64_t>(retention.max_bytes));
}

TEST_F(RetentionTest, DeletesTheOldestEventsWithoutMinutes) {
  WriteHours(3000, 1000);
  Retention retention = kForEver;
  retention.max_bytes = uint64_t{1} << 20;
  RetainAll(retention, Hours(3000));
  EXPECT_EQ(Count("link_minutes"), 0);
  // Four events fit on a page of 4,096 bytes. 7/8 of 1 MB are 224 pages, less 1/16 are 210: 840
  // events, minus the indexes and the excess of one step.
  EXPECT_LE(Count("events"), 840);
  EXPECT_GE(Count("events"), 600);
  EXPECT_EQ(database_.execAndGet("SELECT max(at_ns) FROM events").getInt64(),
            ToNanoseconds(Hours(2999)));
}

TEST_F(RetentionTest, StepDeletesAtMostTheAllowedRows) {
  WriteHours(100);
  Retention retention = kForEver;
  retention.keep_events = std::chrono::hours(50);
  retention.keep_series = std::chrono::hours(10);
  const Deleted deleted = Retain(database_, retention, Hours(100), {7, 180, 0, 0, 0});
  EXPECT_EQ(deleted.by_age, (RowCounts{7, 180, 0, 0, 0}));
  EXPECT_THAT(deleted.is_limited, testing::ElementsAre(true, false, true, false, false));
  EXPECT_FALSE(deleted.more) << "at another time";
  EXPECT_EQ(CountRows(database_), (RowCounts{93, 20, 100, 0, 0}));
}

TEST_F(RetentionTest, DeletesByAgeOnlyAtATrustedTime) {
  WriteHours(100);
  Retention retention = kForEver;
  retention.keep_events = std::chrono::hours(1);
  EXPECT_EQ(Retain(database_, retention, std::nullopt, kAllRows).by_age, RowCounts{});
  EXPECT_EQ(Count("events"), 100);
}

TEST_F(RetentionTest, SizeLimitAppliesWithoutATrustedTime) {
  WriteHours(2000);
  const int64_t pages = database_.execAndGet("PRAGMA page_count").getInt64();
  Retention retention = kForEver;
  retention.max_bytes = static_cast<uint64_t>(pages) * 4096 * 3 / 4;
  const Deleted deleted = Retain(database_, retention, std::nullopt, {0, 0, 0, 0, 0});
  EXPECT_EQ(deleted.by_size, (RowCounts{0, kRowsAStep, kRowsAStep / 2, 0, 0}));
  EXPECT_TRUE(deleted.more);
}

TEST_F(RetentionTest, DeletesAnswersByTheEndOfTheirValidity) {
  std::vector<HistoryRow> rows;
  for (int hour = 0; hour < 100; ++hour) {
    rows.emplace_back(PastAnswer{.part = AnswerPart::kJobs,
                                 .at_ns = ToNanoseconds(Hours(hour)),
                                 .content = static_cast<uint64_t>(hour)});
  }
  RowWriter(database_).Write(rows);
  database_.exec("UPDATE answers SET last_ns = " + std::to_string(ToNanoseconds(Hours(99))) +
                 " WHERE at_ns = 0");
  Retention retention = kForEver;
  retention.keep_series = std::chrono::hours(10);
  RetainAll(retention, Hours(100));
  EXPECT_EQ(Count("answers"), 1 + 10) << "the valid one, and those of the hours 90 to 99";
  retention.max_bytes = 1;
  RetainAll(retention, Hours(100));
  EXPECT_EQ(Count("answers"), 0) << "a full file";
}

TEST_F(RetentionTest, DeletesWholeBlocksOnly) {
  WriteHours(100);
  LinkCompactor compactor(database_);
  while (compactor.Compact(100 * 60)) {
  }
  EXPECT_EQ(Count("link_blocks"), 99) << "the last hour has not ended";
  Retention retention = kForEver;
  retention.keep_series = std::chrono::hours(10);
  RetainAll(retention, Hours(100) + std::chrono::minutes(59));
  EXPECT_EQ(Count("link_blocks"), 9) << "of the hours 90 to 98";
  EXPECT_EQ(database_.execAndGet("SELECT min(hour) FROM link_blocks").getInt64(), 90);
  retention.max_bytes = 1;
  RetainAll(retention, Hours(100));
  EXPECT_EQ(Count("link_blocks"), 0) << "a full file";
}

TEST_F(RetentionTest, FullFileLosesTheOldestRowsOfAllKinds) {
  WriteHours(2000);
  std::vector<HistoryRow> rows;
  for (int hour = 1000; hour < 2000; ++hour) {
    rows.emplace_back(PastAnswer{.part = AnswerPart::kJobs,
                                 .at_ns = ToNanoseconds(Hours(hour)),
                                 .content = static_cast<uint64_t>(hour)});
  }
  RowWriter(database_).Write(rows);
  Retention retention = kForEver;
  const int64_t pages = database_.execAndGet("PRAGMA page_count").getInt64();
  retention.max_bytes = static_cast<uint64_t>(pages) * 4096 * 3 / 4;
  RetainAll(retention, Hours(2000));
  const int64_t minute = database_.execAndGet("SELECT min(minute) FROM link_minutes");
  const int64_t answer = database_.execAndGet("SELECT min(at_ns) FROM answers");
  EXPECT_GT(minute, 1000 * 60);
  EXPECT_GT(answer, ToNanoseconds(Hours(1000)));
  EXPECT_GT(Count("answers"), 0);
}

TEST_F(RetentionTest, FindsRowsInTheFuture) {
  WriteHours(100);
  EXPECT_EQ(FindFutureRows(database_, Hours(100)).rows, 0);
  const FutureRows future = FindFutureRows(database_, Hours(97));
  EXPECT_EQ(future.rows, 2 + 4 + 2) << "of the hours 98 and 99";
  EXPECT_EQ(future.newest, Hours(99));
}

TEST_F(RetentionTest, FirstStretchEndsAtTheFirstGap) {
  constexpr Duration kDay = std::chrono::hours(24);
  EXPECT_EQ(EndOfFirstStretch(database_, kDay), std::nullopt);
  WriteHours(1000);
  EXPECT_EQ(EndOfFirstStretch(database_, kDay), Hours(999));
  RowWriter(database_).Write(std::vector<HistoryRow>{
      EventAt(ToNanoseconds(Hours(1023))), LinkAt(1048 * 60, "p", 1), EventAt(INT64_MAX)});
  EXPECT_EQ(EndOfFirstStretch(database_, kDay), Hours(1023));
}

TEST_F(RetentionTest, FileIsFullAtItsLimit) {
  Retention retention = kForEver;
  retention.max_bytes = 100'000;
  BoundFile(database_, retention);
  RowWriter writer(database_);
  std::vector<HistoryRow> rows;
  for (int i = 0; i < 200; ++i) rows.emplace_back(EventAt(i, std::string(1000, 'x')));
  const auto written = Caught(database_, [&] { writer.Write(rows); });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().fault, DatabaseFault::kFull);
  EXPECT_EQ(Count("events"), 0) << "all or nothing";
  writer.Write(std::span(rows).first(10));
  EXPECT_EQ(Count("events"), 10);
}

}  // namespace
}  // namespace rocescope
