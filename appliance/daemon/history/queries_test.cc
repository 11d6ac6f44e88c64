// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/queries.h"

#include <gmock/gmock.h>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/row_writer.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Timestamp Minute(int64_t minute) { return FromNanoseconds(0) + minute * kMinute; }

class Queries : public HistoryTest {
 protected:
  Queries() : database_(OpenHistory(file_, FromNanoseconds(0), EventPublisher()).value()) {}

  void Write(const std::vector<HistoryRow>& rows) { RowWriter(database_).Write(rows); }
  std::vector<std::string> EventsOf(const EventQuery& query) {
    return FindEvents(database_, query).messages;
  }

  SQLite::Database database_;
};

TEST_F(Queries, EventsAreFoundByTimeKindPlaceAndJob) {
  Write(
      {PastEvent{.at_ns = 10, .kind = "begun", .place = "leaf0", .jobs = {"a"}, .message = "1"},
       PastEvent{.at_ns = 20, .kind = "over", .place = "leaf1", .jobs = {"a", "b"}, .message = "2"},
       PastEvent{.at_ns = 30, .kind = "begun", .place = "leaf1", .message = "3"},
       JobMinute{.minute = 1, .job = "b", .name = "pretrain", .allocation = 4711}});
  EXPECT_THAT(EventsOf({}), ElementsAre("3", "2", "1"));
  EXPECT_THAT(EventsOf({.from = FromNanoseconds(10), .until = FromNanoseconds(30)}),
              ElementsAre("2", "1"));
  EXPECT_THAT(EventsOf({.kind = "begun"}), ElementsAre("3", "1"));
  EXPECT_THAT(EventsOf({.place = "leaf1"}), ElementsAre("3", "2"));
  EXPECT_THAT(EventsOf({.job = "a"}), ElementsAre("2", "1"));
  EXPECT_THAT(EventsOf({.kind = "over", .job = "a"}), ElementsAre("2"));
  EXPECT_THAT(EventsOf({.job = "4711"}), ElementsAre("2"));
  EXPECT_THAT(EventsOf({.job = "pretrain"}), ElementsAre("2"));
  EXPECT_THAT(EventsOf({.job = "0"}), IsEmpty());
}

TEST_F(Queries, LinksOfAMinuteAreThoseOfTheLastOneAtOrBefore) {
  EXPECT_FALSE(FindLinks(database_, {.minute = 10}).is_found);
  EXPECT_EQ(FindLinks(database_, {.minute = 10}).newest, -1);
  Write({LinkAt(5, "b", 1), LinkAt(5, "a", 2), LinkAt(8, "a", 3)});
  const MinuteOfLinks found = FindLinks(database_, {.minute = 7});
  EXPECT_EQ(found.minute, 5);
  EXPECT_THAT(found.links, ElementsAre(LinkAt(5, "b", 1), LinkAt(5, "a", 2)));
  EXPECT_EQ(found.oldest, 5);
  EXPECT_EQ(found.newest, 8);
  EXPECT_FALSE(FindLinks(database_, {.minute = 4}).is_found);
  EXPECT_FALSE(FindLinks(database_, {.minute = 7, .is_exact = true}).is_found);
  EXPECT_TRUE(FindLinks(database_, {.minute = 8, .is_exact = true}).is_found);
}

TEST_F(Queries, PagesContainEachEventOnce) {
  std::vector<HistoryRow> rows;
  for (int i = 0; i < 10; ++i) rows.emplace_back(EventAt(i / 4, std::to_string(i)));
  Write(rows);
  std::vector<std::string> all;
  EventQuery query = {.most = 3};
  do {
    const auto page = FindEvents(database_, query);
    EXPECT_LE(page.messages.size(), 3u);
    all.insert(all.end(), page.messages.begin(), page.messages.end());
    query.after = page.next;
    Write({EventAt(1000, "new")});
  } while (query.after);
  EXPECT_THAT(all, ElementsAre("9", "8", "7", "6", "5", "4", "3", "2", "1", "0"));
}

TEST_F(Queries, PagesEndAtALimitOfBytesButHaveAnEvent) {
  Write({EventAt(1, "123"), EventAt(2, "456"), EventAt(3, "78"), EventAt(4, "9")});
  EventQuery query = {.most_bytes = 3};
  std::vector<std::vector<std::string>> pages;
  do {
    pages.push_back(FindEvents(database_, query).messages);
    query.after = FindEvents(database_, query).next;
  } while (query.after);
  EXPECT_THAT(pages, ElementsAre(ElementsAre("9", "78"), ElementsAre("456"), ElementsAre("123")));
  query.most_bytes = 1;
  EXPECT_THAT(EventsOf(query), ElementsAre("9"));
  query.after = {.at_ns = 4, .id = 4};
  EXPECT_THAT(EventsOf(query), ElementsAre("78")) << "larger than the limit";
}

TEST_F(Queries, SeriesAggregatesSumsAndMaxima) {
  std::vector<HistoryRow> rows;
  for (int minute = 100; minute < 160; ++minute) {
    if (minute == 130) continue;  // a minute without data
    LinkMinute link = LinkAt(minute, "p", 10);
    link.use_most = minute / 1000.0;
    link.peak_bytes = static_cast<uint64_t>(1000 - minute);
    rows.emplace_back(link);
    rows.emplace_back(LinkAt(minute, "other", 7777));
  }
  Write(rows);
  const auto fine = FindLinkSeries(database_, {.name = "p"});
  EXPECT_EQ(fine.step, kMinute);
  ASSERT_THAT(fine.points, SizeIs(59));
  EXPECT_EQ(fine.points.front().from, Minute(100));
  EXPECT_EQ(fine.points.front().bytes, 10u);
  // 105 to 140 in steps of 15: 105-119, 120-134, 135-139.
  const auto coarse = FindLinkSeries(database_, {.name = "p",
                                                 .from = Minute(105),
                                                 .until = Minute(140),
                                                 .step = std::chrono::seconds(14 * 60 + 1),
                                                 .max_points = 3});
  EXPECT_EQ(coarse.step, 15 * kMinute);
  ASSERT_THAT(coarse.points, SizeIs(3));
  EXPECT_EQ(coarse.points[0].from, Minute(105));
  EXPECT_EQ(coarse.points[0].bytes, 150u);
  EXPECT_EQ(coarse.points[1].bytes, 140u);
  EXPECT_EQ(coarse.points[1].use_windows, 14u);
  EXPECT_DOUBLE_EQ(coarse.points[1].use_sum, 7.0);
  EXPECT_DOUBLE_EQ(coarse.points[1].use_most, 0.134);
  EXPECT_EQ(coarse.points[1].peak_bytes, 880u);
  EXPECT_EQ(coarse.points[2].bytes, 50u);
  const auto empty = FindLinkSeries(database_, {.name = "p", .from = Minute(500)});
  EXPECT_TRUE(empty.is_known);
  EXPECT_THAT(empty.points, IsEmpty());
  EXPECT_FALSE(FindLinkSeries(database_, {.name = "nobody"}).is_known);
}

TEST_F(Queries, MinuteOfAWrongClockTakesNoTime) {
  Write({LinkAt(0, "p", 1), LinkAt(29'000'000, "p", 2), LinkAt(58'000'000, "p", 3)});
  const auto series = FindLinkSeries(database_, {.name = "p"});
  ASSERT_THAT(series.points, SizeIs(3));
  EXPECT_EQ(series.step, 58'001 * kMinute) << "1,000 of them are the least that cover 58,000,001";
}

TEST_F(Queries, MinutesOutsideTheValidTimesAreIgnored) {
  for (const int64_t invalid : {INT64_MIN, int64_t{-1}, kLatestMinute + 1, INT64_MAX}) {
    Write({LinkAt(invalid, "p", 1), JobMinute{.minute = invalid, .job = "j", .looks = 1}});
  }
  EXPECT_THAT(FindLinkSeries(database_, {.name = "p"}).points, IsEmpty());
  EXPECT_THAT(FindJobSeries(database_, {.name = "j"}).points, IsEmpty());
  EXPECT_FALSE(FindLinks(database_, {.minute = INT64_MAX}).is_found);
  Write({LinkAt(100, "p", 2), LinkAt(101, "p", 3), JobMinute{.minute = 100, .job = "j"}});
  const auto links = FindLinkSeries(database_, {.name = "p"});
  EXPECT_EQ(links.step, kMinute);
  ASSERT_THAT(links.points, SizeIs(2));
  EXPECT_EQ(links.points[0].from, Minute(100));
  const auto jobs = FindJobSeries(database_, {.name = "j"});
  EXPECT_EQ(jobs.step, kMinute);
  ASSERT_THAT(jobs.points, SizeIs(1));
  EXPECT_EQ(jobs.points[0].from, Minute(100));
  const MinuteOfLinks found = FindLinks(database_, {.minute = INT64_MAX});
  EXPECT_EQ(found.minute, 101);
  EXPECT_EQ(found.oldest, 100);
  EXPECT_EQ(found.newest, 101);
}

TEST_F(Queries, SeriesStartWithTheRetentionTimeIfItHasRows) {
  Write({LinkAt(1, "p", 1), LinkAt(29'000'000, "p", 2)});
  const auto series = FindLinkSeries(database_, {.name = "p", .kept_from = Minute(28'999'900)});
  EXPECT_EQ(series.step, kMinute);
  EXPECT_THAT(series.points, SizeIs(1));
  EXPECT_THAT(
      FindLinkSeries(
          database_,
          {.name = "p", .from = Minute(1), .until = Minute(2), .kept_from = Minute(28'999'900)})
          .points,
      SizeIs(1))
      << "the request names the time";
  EXPECT_THAT(FindLinkSeries(database_, {.name = "p", .kept_from = Minute(30'000'000)}).points,
              SizeIs(2))
      << "there are no later rows";
}

TEST_F(Queries, FindsAJobByIdNumberAndName) {
  Write({JobMinute{.minute = 5, .job = "nccl-1", .looks = 1, .bytes = 1, .service = 1},
         JobMinute{.minute = 6,
                   .job = "nccl-1",
                   .name = "pretrain",
                   .allocation = 4711,
                   .looks = 1,
                   .bytes = 2,
                   .findings = 2,
                   .service = 3},
         JobMinute{.minute = 6, .job = "nccl-2", .looks = 1, .bytes = 50}});
  const auto by_id = FindJobSeries(database_, {.name = "nccl-1", .step = 10 * kMinute});
  ASSERT_THAT(by_id.points, SizeIs(1));
  EXPECT_EQ(by_id.points[0].from, Minute(0));
  EXPECT_EQ(by_id.points[0].bytes, 3u) << "before and after the scheduler registered it";
  EXPECT_EQ(by_id.points[0].findings, 2u);
  EXPECT_EQ(by_id.points[0].service, 3u);
  for (const char* name : {"4711", "pretrain"}) {
    const auto series = FindJobSeries(database_, {.name = name});
    ASSERT_THAT(series.points, SizeIs(1)) << name;
    EXPECT_EQ(series.points[0].bytes, 2u);
  }
  EXPECT_FALSE(FindJobSeries(database_, {.name = ""}).is_known);
  EXPECT_FALSE(FindJobSeries(database_, {.name = "0"}).is_known);
}

TEST(StepMinutes, IsTheSmallestMultipleWithinTheLimit) {
  for (int64_t first = 0; first < 40; first += 7) {
    for (int64_t length = 1; length < 60; ++length) {
      for (const int64_t asked : {1, 5}) {
        for (const uint32_t most : {2u, 3u, 10u}) {
          int64_t least = asked;  // brute force
          const auto points = [&](int64_t step) {
            int64_t count = 1;
            for (int64_t m = first + 1; m < first + length; ++m) count += m % step == 0 ? 1 : 0;
            return count;
          };
          while (points(least) > most) least += asked;
          EXPECT_EQ(StepMinutes(first, first + length, asked, most), least);
        }
      }
    }
  }
  EXPECT_EQ(StepMinutes(7, 7, 0, 100), 1);
  EXPECT_EQ(StepMinutes(29'000'000, 29'020'160, 0, 1000), 21);
}

}  // namespace
}  // namespace rocescope
