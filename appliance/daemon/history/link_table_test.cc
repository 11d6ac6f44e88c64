// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/link_table.h"

#include <gmock/gmock.h>

#include <thread>

#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/queries.h"
#include "appliance/daemon/history/row_writer.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class LinkTable : public HistoryTest {
 protected:
  LinkTable() : database_(OpenHistory(file_, FromNanoseconds(0), EventPublisher()).value()) {}

  void Write(const std::vector<HistoryRow>& rows) { RowWriter(database_).Write(rows); }
  // Values for each minute of [first, end) and each of the ports p0, p1, ...
  void WriteMinutes(int64_t first, int64_t end, int ports) {
    std::vector<HistoryRow> rows;
    for (int64_t minute = first; minute < end; ++minute) {
      for (int port = 0; port < ports; ++port) {
        rows.emplace_back(LinkAt(minute, "p" + std::to_string(port), BytesAt(minute, port)));
      }
    }
    Write(rows);
  }
  static uint64_t BytesAt(int64_t minute, int port) {
    return static_cast<uint64_t>(minute * 1000 + port);
  }
  // Returns the number of steps.
  int CompactAll(int64_t minute) {
    LinkCompactor compactor(database_);
    int steps = 0;
    while (compactor.Compact(minute)) ++steps;
    return steps;
  }
  int64_t Count(const std::string& table) {
    return database_.execAndGet("SELECT count(*) FROM " + table).getInt64();
  }
  Series<LinkPoint> SeriesOf(const std::string& port, int64_t first = 0, int64_t end = 100'000) {
    return FindLinkSeries(database_, {.name = port,
                                      .from = FromNanoseconds(first * kMinute.count()),
                                      .until = FromNanoseconds(end * kMinute.count()),
                                      .step = kMinute,
                                      .max_points = 10'000});
  }
  static bool IsSame(const LinkPoint& a, const LinkPoint& b) {
    return a.from == b.from && a.windows == b.windows && a.use_sum == b.use_sum &&
           a.use_most == b.use_most && a.bytes == b.bytes;
  }

  SQLite::Database database_;
};

TEST_F(LinkTable, CompactedHoursHaveTheSameSeries) {
  WriteMinutes(50, 310, 3);
  const auto before = SeriesOf("p1");
  ASSERT_THAT(before.points, SizeIs(260));
  EXPECT_EQ(CompactAll(309), 5) << "the hours 0 to 4; the last one has not ended";
  EXPECT_EQ(Count("link_blocks"), 5);
  EXPECT_EQ(Count("link_minutes"), 3 * 10);
  const auto after = SeriesOf("p1");
  ASSERT_THAT(after.points, SizeIs(260));
  for (size_t i = 0; i < 260; ++i) ASSERT_TRUE(IsSame(before.points[i], after.points[i])) << i;
  EXPECT_THAT(SeriesOf("p1", 100, 301).points, SizeIs(201));
  EXPECT_EQ(SeriesOf("p1", 100, 301).points.back().bytes, BytesAt(300, 1));
  EXPECT_FALSE(SeriesOf("p3").is_known);
}

TEST_F(LinkTable, HourIsCompactedWhenLateRowsHaveArrived) {
  WriteMinutes(0, 70, 1);
  EXPECT_EQ(CompactAll(60 + kCompactAfterMinutes - 1), 0);
  EXPECT_EQ(CompactAll(60 + kCompactAfterMinutes), 1);
  EXPECT_EQ(Count("link_minutes"), 10);
}

TEST_F(LinkTable, LateRowIsAddedBeforeAndAfterItsCompaction) {
  WriteMinutes(0, 60, 2);
  CompactAll(1000);
  Write({LinkAt(7, "p1", 5)});
  for (int i = 0; i < 2; ++i) {
    const auto series = SeriesOf("p1");
    ASSERT_THAT(series.points, SizeIs(60));
    EXPECT_EQ(series.points[7].bytes, BytesAt(7, 1) + 5);
    EXPECT_EQ(series.points[7].windows, 2u);
    EXPECT_EQ(FindLinks(database_, {.minute = 7}).links[1].bytes, BytesAt(7, 1) + 5);
    EXPECT_EQ(CompactAll(1000), i == 0 ? 1 : 0);
  }
  EXPECT_EQ(Count("link_blocks"), 1);
}

TEST_F(LinkTable, StepsAreLimitedToOneBlock) {
  WriteMinutes(0, 60, 300);
  LinkCompactor compactor(database_);
  const auto step = compactor.Compact(1000);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->rows, 60 * (kLinksPerBlock - 1)) << "port ids start at 1";
  EXPECT_EQ(step->blocks, 1);
  EXPECT_EQ(CompactAll(1000), 2);
  EXPECT_EQ(Count("link_minutes"), 0);
}

TEST_F(LinkTable, FindsAllLinksOfAMinute) {
  WriteMinutes(10, 130, 300);
  CompactAll(130);
  EXPECT_EQ(Count("link_blocks"), 6);
  EXPECT_EQ(Count("link_minutes"), 300 * 10);
  for (const int64_t minute : {10, 59, 60, 129}) {
    const auto found = FindLinks(database_, {.minute = minute});
    ASSERT_TRUE(found.is_found);
    EXPECT_EQ(found.minute, minute);
    ASSERT_THAT(found.links, SizeIs(300));
    for (int port = 0; port < 300; ++port) {
      EXPECT_EQ(found.links[static_cast<size_t>(port)],
                LinkAt(minute, "p" + std::to_string(port), BytesAt(minute, port)));
    }
  }
  EXPECT_FALSE(FindLinks(database_, {.minute = 9}).is_found);
  EXPECT_EQ(FindLinks(database_, {.minute = 500}).minute, 129);
}

TEST_F(LinkTable, LastMinuteBeforeAGapIsFound) {
  WriteMinutes(0, 58, 2);
  WriteMinutes(90, 100, 2);
  CompactAll(1000);
  EXPECT_EQ(FindLinks(database_, {.minute = 80}).minute, 57);
  EXPECT_EQ(FindLinks(database_, {.minute = 58}).minute, 57);
  EXPECT_EQ(FindLinks(database_, {.minute = 95}).minute, 95);
  EXPECT_EQ(FindLinks(database_, {.minute = 119}).minute, 99);
  EXPECT_FALSE(FindLinks(database_, {.minute = 80, .is_exact = true}).is_found);
}

TEST_F(LinkTable, DamagedBlockIsReportedAndTheOthersAreRead) {
  WriteMinutes(0, 180, 2);
  CompactAll(1000);
  database_.exec("CREATE TEMP TABLE saved AS SELECT message FROM link_blocks WHERE hour = 1");
  for (const char* message : {"x''", "'text'", "substr(message, 1, 40)", "message || x'00'"}) {
    database_.exec(std::string("UPDATE link_blocks SET message = ") + message + " WHERE hour = 1");
    const auto series = SeriesOf("p0");
    EXPECT_THAT(series.points, SizeIs(120)) << message;
    EXPECT_THAT(series.damage, HasSubstr("damaged block")) << message;
    const auto links = FindLinks(database_, {.minute = 100});
    EXPECT_EQ(links.minute, 59);
    EXPECT_THAT(links.damage, HasSubstr("damaged block"));
    database_.exec("UPDATE link_blocks SET message = (SELECT message FROM saved) WHERE hour = 1");
  }
  EXPECT_EQ(SeriesOf("p0").damage, "");
}

TEST_F(LinkTable, LateRowsReplaceADamagedBlock) {
  WriteMinutes(0, 60, 2);
  CompactAll(1000);
  database_.exec("UPDATE link_blocks SET message = 'x'");
  Write({LinkAt(7, "p1", 5)});
  const auto step = LinkCompactor(database_).Compact(1000);
  ASSERT_TRUE(step);
  EXPECT_THAT(step->damage, HasSubstr("damaged block"));
  EXPECT_THAT(SeriesOf("p1").points, SizeIs(1));
}

TEST_F(LinkTable, MinutesOutsideTheValidTimesAreNotCompacted) {
  Write({LinkAt(INT64_MIN, "p0", 1), LinkAt(-1, "p0", 1), LinkAt(INT64_MAX, "p0", 1)});
  EXPECT_EQ(CompactAll(1000), 0);
  EXPECT_EQ(Count("link_minutes"), 3);
  WriteMinutes(0, 60, 1);
  EXPECT_EQ(CompactAll(1000), 1);
  EXPECT_EQ(Count("link_minutes"), 3);
}

TEST_F(LinkTable, StoreCompactsWhileItWrites) {
  const auto store = Open(Options());
  ASSERT_TRUE(store);
  for (int minute = 0; minute < 200; ++minute) (*store)->Add(LinkAt(minute, "p", 1));
  ASSERT_TRUE((*store)->Flush(kSoon));
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (Count("link_blocks") < 3 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(Count("link_blocks"), 3);
  const auto series = (*store)->LinkSeries({.name = "p", .step = kMinute});
  ASSERT_TRUE(series);
  EXPECT_THAT(series->points, SizeIs(200));
}

}  // namespace
}  // namespace rocescope
