// SPDX-License-Identifier: BSD-3-Clause
// Files as earlier versions of rocescope wrote them, and as later versions may write them.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The statements of these versions, from the history of history_file.cc. They must not follow later
// changes there.
constexpr const char* kSchema1 = R"(
CREATE TABLE events (id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL, kind TEXT NOT NULL,
                     place TEXT NOT NULL, message BLOB NOT NULL);
CREATE INDEX events_by_time ON events (at_ns, id);
CREATE TABLE event_jobs (event INTEGER NOT NULL, job TEXT NOT NULL,
                         PRIMARY KEY (event, job)) WITHOUT ROWID;
CREATE TABLE ports (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE link_minutes (minute INTEGER NOT NULL, port INTEGER NOT NULL,
                           windows INTEGER NOT NULL, use_windows INTEGER NOT NULL,
                           use_sum REAL NOT NULL, use_most REAL NOT NULL, bytes INTEGER NOT NULL,
                           marked INTEGER NOT NULL, dropped INTEGER NOT NULL,
                           paused_ns INTEGER NOT NULL, peak_bytes INTEGER NOT NULL,
                           errors INTEGER NOT NULL, PRIMARY KEY (minute, port)) WITHOUT ROWID;
CREATE TABLE jobs (id INTEGER PRIMARY KEY, job TEXT NOT NULL, allocation INTEGER NOT NULL,
                   name TEXT NOT NULL, UNIQUE (job, allocation, name));
CREATE TABLE job_minutes (job INTEGER NOT NULL, minute INTEGER NOT NULL, looks INTEGER NOT NULL,
                          bytes INTEGER NOT NULL, iterations REAL NOT NULL,
                          period_looks INTEGER NOT NULL, period_sum_ns INTEGER NOT NULL,
                          findings INTEGER NOT NULL, service INTEGER NOT NULL,
                          PRIMARY KEY (job, minute)) WITHOUT ROWID;
CREATE INDEX job_minutes_by_time ON job_minutes (minute, job);
)";
constexpr const char* kSchema1WithTime =
    "CREATE TABLE IF NOT EXISTS trusted_time (id INTEGER PRIMARY KEY CHECK (id = 1), "
    "trusted_ns INTEGER NOT NULL, candidate_ns INTEGER, confirmed_ns INTEGER NOT NULL);";
constexpr const char* kSchema2 =
    "CREATE TABLE answers (id INTEGER PRIMARY KEY, part INTEGER NOT NULL, name TEXT NOT NULL, "
    "at_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, content INTEGER NOT NULL, "
    "message BLOB NOT NULL, UNIQUE (part, name, at_ns)); "
    "CREATE INDEX answers_by_time ON answers (last_ns, id); "
    "CREATE TABLE link_blocks (hour INTEGER NOT NULL, block INTEGER NOT NULL, "
    "message BLOB NOT NULL, PRIMARY KEY (hour, block));";

// Rows that every version can store; 29,500,000 minutes are 2026-02-02T02:40:00Z.
constexpr const char* kRows = R"(
INSERT INTO events VALUES (7, 1770000000000000000, 'fault_started', 'leaf0:Ethernet1', x'0a0b');
INSERT INTO event_jobs VALUES (7, '4711');
INSERT INTO ports VALUES (3, 'leaf0:Ethernet1');
INSERT INTO link_minutes VALUES (29500000, 3, 60, 60, 30.5, 0.75, 123456789, 11, 12, 13, 14, 15);
INSERT INTO jobs VALUES (5, 'nccl-1', 4711, 'pretrain');
INSERT INTO job_minutes VALUES (5, 29500000, 60, 987654321, 12.5, 50, 500000000, 1, 2);
)";

constexpr Timestamp kUpgradeTime = FromNanoseconds(int64_t{29'500'001} * 60'000'000'000);

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class HistoryMigration : public HistoryTest {
 protected:
  // Writes the file as a version with these tables did.
  void Create(const std::string& tables, int schema) {
    std::filesystem::remove(file_);
    SQLite::Database database(file_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(
        "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; "
        "PRAGMA journal_mode = WAL");
    database.exec("BEGIN IMMEDIATE; " + tables + "PRAGMA application_id = 1383023429; " +
                  "PRAGMA user_version = " + std::to_string(schema) + "; COMMIT");
    database.exec(kRows);
  }
  Result<SQLite::Database> OpenFile() { return OpenHistory(file_, kUpgradeTime, EventPublisher()); }
  // All values of a row, separated by "|".
  static std::string Row(SQLite::Database& database, const std::string& table) {
    SQLite::Statement row(database, "SELECT * FROM " + table);
    std::string text;
    while (row.executeStep()) {
      for (int i = 0; i < row.getColumnCount(); ++i) {
        text += (i == 0 ? "" : "|") + row.getColumn(i).getString();
      }
    }
    return text;
  }
  static void ExpectRows(SQLite::Database& database) {
    EXPECT_EQ(Row(database, "events"),
              "7|1770000000000000000|fault_started|leaf0:Ethernet1|\x0a\x0b");
    EXPECT_EQ(Row(database, "event_jobs"), "7|4711");
    EXPECT_EQ(Row(database, "ports"), "3|leaf0:Ethernet1");
    EXPECT_EQ(Row(database, "link_minutes"), "29500000|3|60|60|30.5|0.75|123456789|11|12|13|14|15");
    EXPECT_EQ(Row(database, "jobs"), "5|nccl-1|4711|pretrain");
    EXPECT_EQ(Row(database, "job_minutes"), "5|29500000|60|987654321|12.5|50|500000000|1|2");
  }
};

TEST_F(HistoryMigration, FilesOfEveryEarlierSchemaKeepTheirValues) {
  struct Case {
    std::string tables;
    int schema;
  };
  for (const Case& one : {Case{kSchema1, 1}, Case{std::string(kSchema1) + kSchema1WithTime, 1},
                          Case{std::string(kSchema1) + kSchema2, 2}}) {
    Create(one.tables, one.schema);
    auto database = OpenFile();
    ASSERT_TRUE(database) << database.error().message;
    EXPECT_EQ(database->execAndGet("PRAGMA user_version").getInt(), kHistorySchema);
    EXPECT_EQ(MissingTable(*database), "");
    ExpectRows(*database);
  }
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryMigration, MigratedFileIsUsable) {
  Create(kSchema1, 1);
  HistoryOptions options = Options();
  options.wall_clock = [] { return kUpgradeTime; };
  auto store = Open(options);
  ASSERT_TRUE(store) << store.error().message;
  (*store)->Add(EventAt(ToNanoseconds(kUpgradeTime), "new"));
  ASSERT_TRUE((*store)->Flush(kSoon));
  const auto events = (*store)->Events({});
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_THAT(events->messages, SizeIs(2));
}

TEST_F(HistoryMigration, TheFileIsCopiedBeforeIt) {
  Create(kSchema1, 1);
  std::ofstream(file_ + ".before-schema-1") << "copy of an earlier migration";
  std::ofstream(file_ + ".before-schema-x") << "not a copy";
  ASSERT_TRUE(OpenFile());
  EXPECT_THAT(
      FilesWith("before-schema"),
      testing::UnorderedElementsAre("history.db.before-schema-2", "history.db.before-schema-x"));
  EXPECT_THAT(notices_, ElementsAre(AllOf(HasSubstr("from schema 1 to 2"),
                                          HasSubstr("history.db.before-schema-2"))));
  struct stat found = {};
  ASSERT_EQ(stat((file_ + ".before-schema-2").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  SQLite::Database copy(file_ + ".before-schema-2", SQLite::OPEN_READONLY);
  EXPECT_EQ(copy.execAndGet("PRAGMA user_version").getInt(), 1);
  EXPECT_EQ(copy.execAndGet("PRAGMA integrity_check").getString(), "ok");
  EXPECT_EQ(copy.execAndGet("PRAGMA journal_mode").getString(), "delete");
  EXPECT_FALSE(copy.tableExists("answers"));
  ExpectRows(copy);
  EXPECT_THAT(FilesWith("partial"), IsEmpty());
}

TEST_F(HistoryMigration, GoesOnWithoutACopy) {
  Create(kSchema1, 1);
  // The copy cannot get its name.
  std::filesystem::create_directories(file_ + ".before-schema-2/x");
  auto database = OpenFile();
  ASSERT_TRUE(database) << database.error().message;
  ExpectRows(*database);
  EXPECT_THAT(notices_,
              ElementsAre(AllOf(HasSubstr("without a copy"), HasSubstr("before-schema-2"))));
  EXPECT_THAT(FilesWith("partial"), IsEmpty());
}

TEST_F(HistoryMigration, CurrentFilesAreNotCopied) {
  Create(std::string(kSchema1) + kSchema2, 2);
  ASSERT_TRUE(OpenFile());
  EXPECT_THAT(FilesWith("before-schema"), IsEmpty());
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(HistoryMigration, FileOfALaterVersionIsRefusedAndUnchanged) {
  Create(std::string(kSchema1) + kSchema2 + "CREATE TABLE later (x);", kHistorySchema + 1);
  const std::string before = BytesOf(file_);
  const auto refused = OpenFile();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("schema 3 of a newer rocescope"), HasSubstr("was not changed")));
  EXPECT_EQ(BytesOf(file_), before);
  EXPECT_THAT(FilesWith(""), ElementsAre("history.db"));
}

// A killed appliance leaves its log, which closing a connection would write to the file.
TEST_F(HistoryMigration, LogOfALaterVersionIsUnchangedToo) {
  Create(std::string(kSchema1) + kSchema2, 2);
  const std::string killed = (folder_ / "killed.db").string();
  {
    SQLite::Database later(file_, SQLite::OPEN_READWRITE);
    later.exec(
        "CREATE TABLE later (x); PRAGMA user_version = 3; "
        "INSERT INTO ports VALUES (4, 'leaf1:Ethernet1')");
    for (const char* part : {"", "-wal"}) std::filesystem::copy_file(file_ + part, killed + part);
  }
  const std::string before = BytesOf(killed);
  const std::string log = BytesOf(killed + "-wal");
  ASSERT_GT(log.size(), 4096u);
  const auto refused = OpenHistory(killed, kUpgradeTime, EventPublisher());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("schema 3"));
  EXPECT_EQ(BytesOf(killed), before);
  EXPECT_EQ(BytesOf(killed + "-wal"), log);
}

}  // namespace
}  // namespace rocescope
