// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/answer_table.h"

#include <gmock/gmock.h>

#include <random>

#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/row_writer.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kMinuteNs = kMinute.count();
constexpr int64_t kSecondNs = 1'000'000'000;

class AnswerTable : public HistoryTest {
 protected:
  AnswerTable() : database_(OpenHistory(file_, FromNanoseconds(0), EventPublisher()).value()) {}

  static PastAnswer AnswerAt(int64_t at_ns, uint64_t content, std::string message = "m") {
    return {.part = AnswerPart::kFindings,
            .at_ns = at_ns,
            .content = content,
            .message = std::move(message)};
  }
  static std::string Noise(size_t size) {
    std::mt19937 random(1);
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
  }
  FoundAnswer Find(int64_t at_ns, int64_t version = 0) {
    return FindAnswer(database_,
                      {.part = AnswerPart::kFindings, .at_ns = at_ns, .version = version});
  }
  int64_t Count() { return database_.execAndGet("SELECT count(*) FROM answers").getInt64(); }

  SQLite::Database database_;
};

TEST_F(AnswerTable, FindsTheLastVersionAtOrBefore) {
  AnswerWriter writer(database_);
  EXPECT_TRUE(writer.Put(AnswerAt(10 * kMinuteNs, 1, "first")));
  EXPECT_TRUE(writer.Put(AnswerAt(11 * kMinuteNs + 5, 2, "second")));
  EXPECT_FALSE(Find(10 * kMinuteNs - 1).is_found);
  EXPECT_EQ(Find(10 * kMinuteNs - 1).oldest_ns, 10 * kMinuteNs);
  EXPECT_EQ(Find(10 * kMinuteNs - 1).newest_ns, 11 * kMinuteNs + 5);
  EXPECT_EQ(Find(10 * kMinuteNs).message, "first");
  EXPECT_EQ(Find(11 * kMinuteNs + 4).message, "first");
  EXPECT_EQ(Find(11 * kMinuteNs + 5).message, "second");
  EXPECT_EQ(Find(20 * kMinuteNs, 10 * kMinuteNs).message, "first") << "the version of a page";
  EXPECT_FALSE(FindAnswer(database_, {.part = AnswerPart::kJobs, .at_ns = INT64_MAX}).is_found);
}

TEST_F(AnswerTable, UnchangedAnswerExtendsTheValidity) {
  AnswerWriter writer(database_);
  writer.Put(AnswerAt(10 * kMinuteNs + 7, 1));
  for (int minute = 11; minute <= 40; ++minute) {
    EXPECT_FALSE(writer.Put(AnswerAt(minute * kMinuteNs + 9, 1)));
  }
  EXPECT_EQ(Count(), 1);
  EXPECT_EQ(Find(30 * kMinuteNs + 30 * kSecondNs).data_ns, 30 * kMinuteNs);
  EXPECT_EQ(Find(10 * kMinuteNs + 8).data_ns, 10 * kMinuteNs + 7) << "not before it was stored";
  EXPECT_EQ(Find(50 * kMinuteNs).data_ns, 40 * kMinuteNs + 9);
  EXPECT_EQ(Find(50 * kMinuteNs).version, 10 * kMinuteNs + 7);
  AnswerWriter restarted(database_);
  EXPECT_FALSE(restarted.Put(AnswerAt(41 * kMinuteNs, 1))) << "also after a restart";
  EXPECT_EQ(Find(50 * kMinuteNs).data_ns, 41 * kMinuteNs);
}

TEST_F(AnswerTable, PauseOfTheApplianceIsNotBridged) {
  AnswerWriter(database_).Put(AnswerAt(10 * kMinuteNs, 1));
  EXPECT_TRUE(AnswerWriter(database_).Put(AnswerAt(60 * kMinuteNs, 1)));
  EXPECT_EQ(Find(59 * kMinuteNs).data_ns, 10 * kMinuteNs);
}

TEST_F(AnswerTable, LargeAnswersAreStoredLessOften) {
  AnswerWriter writer(database_);
  const std::string message = Noise(4 * kAnswerBytesPerMinute);
  int stored = 0;
  for (int minute = 0; minute < 40; ++minute) {
    stored += writer.Put(AnswerAt(minute * kMinuteNs + 1, static_cast<uint64_t>(minute), message));
  }
  EXPECT_EQ(stored, 10) << "a version takes the bytes of four minutes";
  const std::string huge = Noise(100 * kAnswerBytesPerMinute);
  stored = 0;
  for (int minute = 40; minute < 80; ++minute) {
    stored += writer.Put(AnswerAt(minute * kMinuteNs + 1, static_cast<uint64_t>(minute), huge));
  }
  EXPECT_EQ(stored, 4);
}

TEST_F(AnswerTable, JobsShareTheRateOfTheirPart) {
  AnswerWriter writer(database_);
  int stored = 0;
  for (int minute = 0; minute < 40; ++minute) {
    for (int job = 0; job < 8; ++job) {
      PastAnswer answer = AnswerAt(minute * kMinuteNs + 1, static_cast<uint64_t>(minute),
                                   Noise(kAnswerBytesPerMinute / 2));
      answer.part = AnswerPart::kJob;
      answer.name = std::to_string(job);
      stored += writer.Put(answer);
    }
  }
  EXPECT_EQ(stored, 8 * 10);
}

TEST_F(AnswerTable, DeletedVersionIsStoredAgain) {
  AnswerWriter writer(database_);
  writer.Put(AnswerAt(10 * kMinuteNs, 1));
  database_.exec("DELETE FROM answers");
  EXPECT_TRUE(writer.Put(AnswerAt(11 * kMinuteNs, 1)));
  EXPECT_EQ(Find(11 * kMinuteNs).version, 11 * kMinuteNs);
}

TEST_F(AnswerTable, AnswerAfterTheClockWasSetBackIsStored) {
  AnswerWriter writer(database_);
  writer.Put(AnswerAt(100 * kMinuteNs, 1, "before"));
  EXPECT_TRUE(writer.Put(AnswerAt(50 * kMinuteNs, 1, "after")));
  EXPECT_TRUE(writer.Put(AnswerAt(50 * kMinuteNs, 2, "repeated")));
  EXPECT_EQ(Find(50 * kMinuteNs).message, "repeated");
  EXPECT_EQ(Find(100 * kMinuteNs).message, "before");
  EXPECT_EQ(Count(), 2);
}

TEST_F(AnswerTable, DamagedMessageIsReported) {
  AnswerWriter(database_).Put(AnswerAt(10 * kMinuteNs, 1, Noise(100)));
  for (const char* message : {"x''", "'text'", "x'28b52ffd'", "zeroblob(1000)",
                              "substr(message, 1, 50)", "message || x'00'", "7"}) {
    database_.exec("SAVEPOINT s");
    database_.exec(std::string("UPDATE answers SET message = ") + message);
    const FoundAnswer found = Find(11 * kMinuteNs);
    EXPECT_TRUE(found.is_found);
    EXPECT_THAT(found.damage, HasSubstr("damaged zstd frame")) << message;
    database_.exec("ROLLBACK TO s; RELEASE s");
  }
  EXPECT_EQ(Find(11 * kMinuteNs).damage, "");
}

TEST_F(AnswerTable, StoreCountsDamagedMessagesAndLogsTheFirst) {
  {
    const auto store = Open(Options());
    ASSERT_TRUE(store);
    (*store)->Add(AnswerAt(10 * kMinuteNs, 1));
    ASSERT_TRUE((*store)->Flush(kSoon));
    const AnswerQuery query = {.part = AnswerPart::kFindings, .at_ns = 10 * kMinuteNs};
    EXPECT_EQ((*store)->AnswerAt(query)->message, "m");
    database_.exec("UPDATE answers SET message = 'x'");
    EXPECT_NE((*store)->AnswerAt(query)->damage, "");
    EXPECT_NE((*store)->AnswerAt(query)->damage, "");
    EXPECT_EQ((*store)->counts().errors, 2u);
  }
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(AnswerTable, RolledBackVersionIsStoredAgain) {
  RowWriter writer(database_);
  const PastAnswer answer = AnswerAt(10 * kMinuteNs, 1);
  database_.exec("DROP TABLE event_jobs");
  const std::vector<HistoryRow> rows = {answer, PastEvent{.jobs = {"a"}}};
  EXPECT_THROW(writer.Write(rows), SQLite::Exception);
  EXPECT_EQ(Count(), 0);
  const std::vector<HistoryRow> later = {AnswerAt(11 * kMinuteNs, 1)};
  EXPECT_EQ(writer.Write(later)[kAnswerRows], 1);
  EXPECT_EQ(Count(), 1);
}

}  // namespace
}  // namespace rocescope
