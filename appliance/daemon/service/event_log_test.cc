// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

v1::Event Of(const std::string& kind) {
  v1::Event event;
  event.set_sentence(kind);
  return event;
}

std::vector<std::string> SentencesAfter(const EventLog& log, uint64_t cursor, size_t most = 100) {
  std::vector<std::string> sentences;
  for (const auto& event : log.After(cursor, most))
    sentences.push_back(event->kind() == v1::Event::KIND_GAP ? "gap" : event->sentence());
  return sentences;
}

TEST(EventLog, ReturnsEventsAfterACursor) {
  EventLog log;
  EXPECT_THAT(SentencesAfter(log, 0), IsEmpty());
  for (const char* kind : {"a", "b", "c"}) log.Append(Of(kind));
  EXPECT_EQ(log.last(), 3u);
  EXPECT_THAT(SentencesAfter(log, 0), ElementsAre("a", "b", "c"));
  EXPECT_THAT(SentencesAfter(log, 1), ElementsAre("b", "c"));
  EXPECT_THAT(SentencesAfter(log, 1, 1), ElementsAre("b"));
  EXPECT_THAT(SentencesAfter(log, 3), IsEmpty());
  EXPECT_EQ(log.After(2, 1)[0]->cursor(), 3u);
}

TEST(EventLog, ReportsAGapForDroppedEvents) {
  EventLog log;
  for (size_t i = 0; i < EventLog::kKept + 5; ++i) log.Append(Of("e"));
  const auto events = log.After(2, 2);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0]->kind(), v1::Event::KIND_GAP);
  EXPECT_EQ(events[0]->cursor(), 5u);
  EXPECT_EQ(events[1]->cursor(), 6u);
  EXPECT_EQ(log.After(5, 1)[0]->sentence(), "e") << "all later events are available";
}

TEST(EventLog, CursorThatWasNotIssuedIsAGapFollowedByAllEvents) {
  EventLog log(100);
  EXPECT_THAT(SentencesAfter(log, 101), ElementsAre("gap")) << "even before the first event";
  log.Append(Of("a"));
  log.Append(Of("b"));
  EXPECT_THAT(SentencesAfter(log, 102), IsEmpty());
  EXPECT_THAT(SentencesAfter(log, 103), ElementsAre("gap", "a", "b"));
  const auto events = log.After(900, 1);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0]->kind(), v1::Event::KIND_GAP);
  EXPECT_THAT(events[0]->sentence(), testing::HasSubstr("unknown cursor"));
  EXPECT_EQ(events[0]->cursor(), 100u) << "a client can resume after the gap";
  EXPECT_EQ(events[1]->cursor(), 101u);
}

TEST(EventLog, CursorOfAnEarlierProcessIsAGapFollowedByAllEvents) {
  constexpr Timestamp kFirstLife(std::chrono::seconds(1'790'000'000));
  EventLog before(FirstCursorOf(kFirstLife));
  for (int i = 0; i < 5; ++i) before.Append(Of("old"));
  EventLog log(FirstCursorOf(kFirstLife + std::chrono::seconds(1)));
  EXPECT_THAT(SentencesAfter(log, before.last()), ElementsAre("gap"))
      << "even before the first event";
  EXPECT_THAT(SentencesAfter(log, log.last()), IsEmpty());
  for (int i = 0; i < 10; ++i) log.Append(Of("new"));
  const auto events = log.After(before.last(), 2);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(log.published(), 10u) << "the counter starts at 0 in each process";
  EXPECT_EQ(events[0]->kind(), v1::Event::KIND_GAP);
  EXPECT_THAT(events[0]->sentence(), testing::HasSubstr("the appliance restarted"));
  EXPECT_EQ(events[1]->cursor(), events[0]->cursor() + 1);
  EXPECT_THAT(SentencesAfter(log, 0, 1), ElementsAre("new")) << "0 belongs to no process";
}

TEST(EventLog, CursorsAreExactAsDoubles) {
  // 2200-01-01T00:00:00Z is 84,006 days after the epoch.
  const uint64_t cursor = FirstCursorOf(Timestamp(std::chrono::hours(24 * 84'006)));
  EXPECT_LT(cursor, uint64_t{1} << 53);
}

}  // namespace
}  // namespace rocescope
