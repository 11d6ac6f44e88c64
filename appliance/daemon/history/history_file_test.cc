// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/history_file.h"

#include <gmock/gmock.h>

#include <fstream>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// 2026-01-02T03:04:05Z: 20,455 days and 11,045 seconds since the epoch.
constexpr Timestamp kNow = FromNanoseconds((int64_t{20'455} * 86'400 + 11'045) * 1'000'000'000);

class HistoryFile : public HistoryTest {
 protected:
  Result<SQLite::Database> OpenFile() { return OpenHistory(file_, kNow, EventPublisher()); }
  std::string ErrorOfOpening() {
    const auto opened = OpenFile();
    return opened ? "" : opened.error().message;
  }
  std::string Content() const {
    std::ifstream file(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Execute(const char* sql) {
    auto database = OpenDatabase(file_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    ASSERT_TRUE(database);
    database->exec(sql);
  }
};

TEST_F(HistoryFile, IsCreatedAndReopened) {
  ASSERT_TRUE(OpenFile());
  Execute("INSERT INTO ports (name) VALUES ('leaf0:Ethernet1')");
  auto again = OpenFile();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->execAndGet("SELECT count(*) FROM ports").getInt64(), 1);
  EXPECT_EQ(again->execAndGet("PRAGMA user_version").getInt64(), kHistorySchema);
  EXPECT_EQ(again->execAndGet("PRAGMA auto_vacuum").getInt64(), 2) << "incremental";
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(HistoryFile, OtherFileIsAnErrorAndUnchanged) {
  for (const std::string& text : {std::string("short"), std::string(5000, 'x')}) {
    std::ofstream(file_) << text;
    EXPECT_THAT(ErrorOfOpening(), AllOf(HasSubstr(file_), HasSubstr("not an SQLite database"),
                                        HasSubstr("history.file")));
    EXPECT_EQ(Content(), text);
  }
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryFile, DatabaseOfAnotherProgramIsAnErrorAndUnchanged) {
  Execute("CREATE TABLE music (title TEXT)");
  for (const char* mark : {"PRAGMA application_id = 0", "PRAGMA application_id = 7"}) {
    Execute(mark);
    const std::string before = Content();
    EXPECT_THAT(ErrorOfOpening(),
                AllOf(HasSubstr(file_), HasSubstr("another program"), HasSubstr("history.file")));
    EXPECT_EQ(Content(), before);
  }
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryFile, DamagedDatabaseOfAnotherProgramIsUnchanged) {
  Execute("CREATE TABLE music (title TEXT); CREATE TABLE more (title TEXT)");
  std::filesystem::resize_file(file_, 4096 + 100);
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("history.file"));
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryFile, HasItsApplicationIdFromTheStart) {
  const auto open = OpenFile();
  EXPECT_EQ(Content().substr(68, 4), "RoCE");
}

TEST_F(HistoryFile, InaccessibleFileIsNotMovedAndNothingThrows) {
  std::filesystem::create_symlink(file_, file_);  // ELOOP
  EXPECT_FALSE(OpenFile());
  const std::string other = (folder_ / "other.db").string();
  const std::string aside = other + ".broken-20260102T030405Z";
  std::ofstream(other) << "x";
  std::filesystem::create_symlink(aside, aside);
  const auto moved = MoveAside(other, kNow);
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().message, HasSubstr("cannot be moved"));
  EXPECT_TRUE(std::filesystem::exists(other));
  std::filesystem::remove(aside);
  std::filesystem::create_symlink(other + "-wal", other + "-wal");
  EXPECT_FALSE(MoveAside(other, kNow));
}

TEST_F(HistoryFile, TruncatedFilesAreMovedAside) {
  for (size_t count = 1; count <= 2; ++count) {
    ASSERT_TRUE(OpenFile());
    std::filesystem::resize_file(file_, 3 * 4096);
    ASSERT_TRUE(OpenFile());
    ASSERT_THAT(FilesWith("broken"), SizeIs(count));
    EXPECT_THAT(FilesWith("broken"), Contains("history.db.broken-20260102T030405Z"));
    ASSERT_THAT(notices_, SizeIs(count));
    EXPECT_THAT(notices_.back(), AllOf(HasSubstr(file_), HasSubstr("started a new history")));
  }
}

TEST_F(HistoryFile, FileWithAMissingTableIsMovedAside) {
  ASSERT_TRUE(OpenFile());
  Execute("DROP TABLE link_minutes");
  ASSERT_TRUE(OpenFile());
  EXPECT_THAT(FilesWith("broken"), SizeIs(1));
  EXPECT_THAT(notices_, Contains(HasSubstr("no such table: link_minutes")));
}

TEST_F(HistoryFile, LaterTriggersAndViewsAreIgnored) {
  auto database = OpenFile();
  ASSERT_TRUE(database);
  SQLite::Database(file_, SQLite::OPEN_READWRITE)
      .exec(
          "CREATE TRIGGER t AFTER INSERT ON ports BEGIN DELETE FROM ports; END; "
          "CREATE VIEW v AS SELECT 1");
  database->exec("INSERT INTO ports (name) VALUES ('leaf0:Ethernet1')");
  EXPECT_EQ(database->execAndGet("SELECT count(*) FROM ports").getInt64(), 1);
  EXPECT_THROW(database->execAndGet("SELECT * FROM v"), SQLite::Exception);
}

TEST_F(HistoryFile, AlteredSchemaIsAnErrorAndUnchanged) {
  for (const char* change :
       {"DROP TABLE events; CREATE TABLE events (id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, "
        "kind TEXT NOT NULL, place TEXT NOT NULL, message BLOB AS (hex(zeroblob(30000000)))); "
        "INSERT INTO events (id, at_ns, kind, place) VALUES (1, 1, 'a', 'b')",
        "CREATE INDEX more ON events (hex(zeroblob(30000000)))", "CREATE TABLE music (title TEXT)",
        "CREATE TRIGGER t AFTER INSERT ON ports BEGIN DELETE FROM ports; END",
        "CREATE VIEW v AS SELECT 1", "CREATE TABLE trusted_time (id INTEGER PRIMARY KEY)"}) {
    ASSERT_TRUE(OpenFile());
    Execute(change);
    EXPECT_THAT(ErrorOfOpening(), AllOf(HasSubstr("in the schema was not created by rocescope"),
                                        HasSubstr("history.file")))
        << change;
    std::filesystem::remove(file_);
  }
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryFile, StatisticsOfAnalyzeAreAccepted) {
  ASSERT_TRUE(OpenFile());
  Execute("INSERT INTO ports (name) VALUES ('leaf0:Ethernet1'); ANALYZE");
  EXPECT_EQ(ErrorOfOpening(), "");
}

TEST_F(HistoryFile, ConnectionsLimitTheSizeOfValues) {
  auto database = OpenFile();
  ASSERT_TRUE(database);
  EXPECT_EQ(database->execAndGet("SELECT length(zeroblob(70000000))").getInt64(), 70'000'000);
  EXPECT_THROW(database->execAndGet("SELECT length(hex(zeroblob(70000000)))"), SQLite::Exception);
}

TEST_F(HistoryFile, ConnectionsCannotDamageTheFile) {
  auto database = OpenFile();
  ASSERT_TRUE(database);
  EXPECT_EQ(database->execAndGet("PRAGMA trusted_schema").getInt64(), 0);
  database->exec("PRAGMA writable_schema = ON");
  EXPECT_THROW(database->exec("DELETE FROM sqlite_schema"), SQLite::Exception);
  auto reader = OpenDatabase(file_, SQLite::OPEN_READONLY);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->execAndGet("PRAGMA query_only").getInt64(), 1);
}

TEST_F(HistoryFile, EarlierSchemaIsMigratedAndKeepsItsRows) {
  ASSERT_TRUE(OpenFile());
  Execute(
      "DROP TABLE answers; DROP TABLE link_blocks; PRAGMA user_version = 1; "
      "INSERT INTO ports (name) VALUES ('leaf0:Ethernet1')");
  for (int i = 0; i < 2; ++i) {
    auto database = OpenFile();
    ASSERT_TRUE(database) << database.error().message;
    EXPECT_EQ(database->execAndGet("PRAGMA user_version").getInt64(), kHistorySchema);
    EXPECT_EQ(database->execAndGet("SELECT name FROM ports").getString(), "leaf0:Ethernet1");
    EXPECT_EQ(MissingTable(*database), "");
    EXPECT_TRUE(database->tableExists("answers"));
  }
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("from schema 1 to 2")));
}

TEST_F(HistoryFile, NewerSchemaIsUnchanged) {
  ASSERT_TRUE(OpenFile());
  Execute("PRAGMA user_version = 7");
  const auto again = OpenFile();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message,
              AllOf(HasSubstr(file_), HasSubstr("schema 7"), HasSubstr("newer")));
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryFile, MissingFolderHasAnActionableError) {
  const auto store = HistoryStore::Open({.file = (folder_ / "nowhere" / "h.db").string()}, {});
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("nowhere/h.db"), HasSubstr("history.file")));
}

TEST_F(HistoryFile, IsLockedByOneProcess) {
  const auto first = Open(Options());
  ASSERT_TRUE(first);
  const auto second = Open(Options());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another rocescope process uses the file"));
}

}  // namespace
}  // namespace rocescope
