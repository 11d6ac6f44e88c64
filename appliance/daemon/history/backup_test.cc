// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/backup.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/job_file.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// 2026-01-02T03:04:05Z: 20,455 days and 11,045 seconds since the epoch.
constexpr Timestamp kRestoreTime =
    FromNanoseconds((int64_t{20'455} * 86'400 + 11'045) * 1'000'000'000);

class BackupTest : public HistoryTest {
 protected:
  // Writes a history with `events` events that have the same message.
  void Write(const std::string& file, int events, const std::string& message) {
    HistoryOptions options = Options();
    options.file = file;
    const auto store = HistoryStore::Open(options, EventPublisher());
    ASSERT_TRUE(store) << store.error().message;
    for (int i = 0; i < events; ++i) (*store)->Add(EventAt(int64_t{1'000'000'000} * i, message));
    ASSERT_TRUE((*store)->Flush(kSoon));
  }
  static int64_t Events(const std::string& file) {
    SQLite::Database database(file, SQLite::OPEN_READONLY);
    return database.execAndGet("SELECT count(*) FROM events").getInt64();
  }
  static std::string Bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string RestoreError(const std::string& backup) {
    const auto restored = Restore(DatabaseName::kHistory, backup, file_, kRestoreTime);
    return restored ? "" : restored.error().message;
  }

  const std::string backup_ = (folder_ / "backup").string();
};

TEST_F(BackupTest, HasTheRowsInOneFile) {
  Write(file_, 100, "x");
  const auto copied = BackUp(DatabaseName::kHistory, file_, backup_);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->schema, kHistorySchema);
  EXPECT_EQ(copied->bytes, std::filesystem::file_size(backup_));
  EXPECT_THAT(FilesWith("backup"), ElementsAre("backup"));
  EXPECT_EQ(Events(backup_), 100);
  SQLite::Database database(backup_, SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA journal_mode").getString(), "delete");
  struct stat found = {};
  ASSERT_EQ(stat(backup_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(BackupTest, HasAStateOfARunningHistory) {
  // Several steps of the copying, between which rows are written.
  const std::string message(20'000, 'm');
  const auto store = Open(Options());
  ASSERT_TRUE(store);
  std::atomic<int> added = 0;
  const auto add = [&] { (*store)->Add(EventAt(int64_t{1'000'000'000} * added++, message)); };
  while (added < 500) add();
  ASSERT_TRUE((*store)->Flush(kSoon));
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    while (!ends) {
      add();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const auto copied = BackUp(DatabaseName::kHistory, file_, backup_);
  ends = true;
  writer.join();
  ASSERT_TRUE(copied) << copied.error().message;
  ASSERT_TRUE((*store)->Flush(kSoon));
  EXPECT_EQ((*store)->counts().dropped, 0u);
  EXPECT_EQ((*store)->counts().written, static_cast<uint64_t>(added));
  // The first rows, without a gap.
  SQLite::Database database(backup_, SQLite::OPEN_READONLY);
  const int64_t rows = Events(backup_);
  EXPECT_GE(rows, 500);
  EXPECT_LT(rows, added);
  EXPECT_EQ(database.execAndGet("SELECT max(at_ns) FROM events").getInt64(),
            (rows - 1) * 1'000'000'000);
}

TEST_F(BackupTest, NeverReplacesAFile) {
  Write(file_, 1, "x");
  std::ofstream(backup_) << "mine";
  const auto copied = BackUp(DatabaseName::kHistory, file_, backup_);
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr("exists"));
  EXPECT_EQ(Bytes(backup_), "mine");
}

TEST_F(BackupTest, StopsOnRequestAndLeavesNothing) {
  Write(file_, 200, std::string(20'000, 'm'));
  const auto copied = BackUp(DatabaseName::kHistory, file_, backup_, [] { return true; });
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr("stopped by a signal"));
  EXPECT_THAT(FilesWith("backup"), IsEmpty());
}

TEST_F(BackupTest, OtherFilesAreRefused) {
  std::ofstream(file_) << std::string(5000, 'x');
  const auto copied = BackUp(DatabaseName::kHistory, file_, backup_);
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().message, HasSubstr("not a database"));
  Write((folder_ / "other.db").string(), 1, "x");
  const auto jobs = BackUp(DatabaseName::kJobs, (folder_ / "other.db").string(), backup_);
  ASSERT_FALSE(jobs);
  EXPECT_THAT(jobs.error().message, HasSubstr("not a job file of rocescope"));
  EXPECT_FALSE(BackUp(DatabaseName::kHistory, (folder_ / "none.db").string(), backup_));
  EXPECT_THAT(FilesWith("backup"), IsEmpty());
}

TEST_F(BackupTest, RestoreKeepsTheReplacedFile) {
  Write(file_, 10, "old");
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, file_, backup_));
  Write(file_, 5, "new");
  const std::string before = Bytes(backup_);
  const auto restored = Restore(DatabaseName::kHistory, backup_, file_, kRestoreTime);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->replaced, file_ + ".replaced-20260102T030405Z");
  EXPECT_EQ(Events(restored->replaced), 15);
  EXPECT_EQ(Events(file_), 10);
  EXPECT_EQ(Bytes(backup_), before);
  EXPECT_THAT(FilesWith("partial"), IsEmpty());
  const auto store = Open(Options());
  ASSERT_TRUE(store) << store.error().message;
  const auto events = (*store)->Events({});
  ASSERT_TRUE(events);
  EXPECT_THAT(events->messages, SizeIs(10));
}

TEST_F(BackupTest, ReplacedFileIncludesTheLogOfAKilledAppliance) {
  Write((folder_ / "live.db").string(), 3, "x");
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, (folder_ / "live.db").string(), backup_));
  {
    SQLite::Database live((folder_ / "live.db").string(), SQLite::OPEN_READWRITE);
    live.exec("PRAGMA journal_mode = WAL; DELETE FROM events WHERE at_ns = 0");
    for (const char* part : {"", "-wal"}) {
      std::filesystem::copy_file((folder_ / "live.db").string() + part, file_ + part);
    }
  }
  const auto restored = Restore(DatabaseName::kHistory, backup_, file_, kRestoreTime);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(Events(file_), 3);
  EXPECT_FALSE(std::filesystem::exists(file_ + "-wal"));
  EXPECT_EQ(Events(restored->replaced), 2);
}

TEST_F(BackupTest, RestoreWithoutAPreviousFile) {
  Write((folder_ / "other.db").string(), 4, "x");
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, (folder_ / "other.db").string(), backup_));
  const auto restored = Restore(DatabaseName::kHistory, backup_, file_, kRestoreTime);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->replaced, "");
  EXPECT_EQ(Events(file_), 4);
}

// SQLite would read a log that is left of a removed file into the restored one.
TEST_F(BackupTest, RestoreMovesALogWhoseFileIsGone) {
  Write((folder_ / "other.db").string(), 4, "x");
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, (folder_ / "other.db").string(), backup_));
  std::ofstream(file_ + "-wal") << "left";
  ASSERT_TRUE(Restore(DatabaseName::kHistory, backup_, file_, kRestoreTime));
  EXPECT_FALSE(std::filesystem::exists(file_ + "-wal"));
  EXPECT_EQ(Events(file_), 4);
}

TEST_F(BackupTest, RestoreRefusesALockedFile) {
  Write(file_, 1, "x");
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, file_, backup_));
  const auto store = Open(Options());
  ASSERT_TRUE(store);
  EXPECT_THAT(RestoreError(backup_), HasSubstr("another rocescope process uses the file"));
}

TEST_F(BackupTest, RestoreRefusesUnfitBackupsAndChangesNothing) {
  Write(file_, 3, std::string(20'000, 'm'));
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, file_, backup_));
  const std::string before = Bytes(file_);
  const std::string good = Bytes(backup_);
  const auto put = [&](const std::string& bytes) {
    std::filesystem::remove(backup_);
    std::ofstream(backup_, std::ios::binary) << bytes;
  };
  put(std::string(5000, 'x'));
  EXPECT_THAT(RestoreError(backup_), HasSubstr("not a database"));
  put(good.substr(0, good.size() / 2));
  EXPECT_NE(RestoreError(backup_), "");
  // A page of the message of an event: a page that should point to the next one.
  std::string damaged = good;
  damaged.replace(damaged.size() - 3 * 4096, 2 * 4096, 2 * 4096, '\xff');
  put(damaged);
  EXPECT_NE(RestoreError(backup_), "");
  put(good);
  SQLite::Database(backup_, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 9");
  EXPECT_THAT(RestoreError(backup_), AllOf(HasSubstr("schema 9 is newer"), HasSubstr(backup_)));
  put(good);
  SQLite::Database(backup_, SQLite::OPEN_READWRITE).exec("CREATE TABLE music (title TEXT)");
  EXPECT_THAT(RestoreError(backup_), HasSubstr("\"music\" in the schema"));
  EXPECT_THAT(RestoreError(file_), HasSubstr("use a backup of it"));
  EXPECT_THAT(RestoreError((folder_ / "none").string()), HasSubstr("does not exist"));
  EXPECT_EQ(Bytes(file_), before);
  EXPECT_THAT(FilesWith("replaced"), IsEmpty());
  EXPECT_THAT(FilesWith("partial"), IsEmpty());
}

TEST_F(BackupTest, RestoreDoesNotReplaceAFileOfAnotherProgram) {
  Write((folder_ / "other.db").string(), 1, "x");
  ASSERT_TRUE(BackUp(DatabaseName::kHistory, (folder_ / "other.db").string(), backup_));
  std::ofstream(file_) << "letters";
  EXPECT_THAT(RestoreError(backup_), HasSubstr("not a history file of rocescope"));
  EXPECT_EQ(Bytes(file_), "letters");
}

TEST_F(BackupTest, JobsAreCopiedAndRestored) {
  const std::string file = (folder_ / "jobs.db").string();
  const Allocation job = {.id = 4711,
                          .name = "pretrain",
                          .user = "ada",
                          .state = AllocationState::kHeld,
                          .state_text = "RUNNING",
                          .nodes = {{.name = "host0"}}};
  {
    const auto jobs = JobFile::Open(file, EventPublisher());
    ASSERT_TRUE(jobs);
    (*jobs)->Save({job});
    ASSERT_TRUE((*jobs)->Flush(kSoon));
    ASSERT_TRUE(BackUp(DatabaseName::kJobs, file, backup_));
    (*jobs)->Save({});
    ASSERT_TRUE((*jobs)->Flush(kSoon));
    EXPECT_FALSE(Restore(DatabaseName::kJobs, backup_, file, kRestoreTime));
  }
  ASSERT_TRUE(Restore(DatabaseName::kJobs, backup_, file, kRestoreTime));
  const auto jobs = JobFile::Open(file, EventPublisher());
  ASSERT_TRUE(jobs);
  ASSERT_THAT((*jobs)->found(), SizeIs(1));
  EXPECT_EQ((*jobs)->found()[0].name, "pretrain");
  EXPECT_EQ((*jobs)->found()[0].nodes[0].name, "host0");
}

TEST_F(BackupTest, InspectDescribesAFile) {
  HistoryOptions options = Options();
  const auto store = Open(options);
  ASSERT_TRUE(store);
  (*store)->Add(EventAt(1'500'000'000));
  (*store)->Add(LinkAt(2, "leaf0:Ethernet1", 1));  // the minute from 120 s to 180 s
  ASSERT_TRUE((*store)->Flush(kSoon));
  const auto info = Inspect(file_, kSoon);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->name, DatabaseName::kHistory);
  EXPECT_EQ(info->schema, kHistorySchema);
  EXPECT_GT(info->bytes, 4096u);
  ASSERT_TRUE(info->first && info->last);
  EXPECT_EQ(ToNanoseconds(*info->first), 1'500'000'000);
  EXPECT_EQ(ToNanoseconds(*info->last), 180'000'000'000);
  std::map<std::string, uint64_t> rows;
  for (const auto& table : info->tables) rows[table.name] = table.rows.value_or(99);
  EXPECT_EQ(rows.at("events"), 1u);
  EXPECT_EQ(rows.at("link_minutes"), 1u);
  EXPECT_EQ(rows.at("answers"), 0u);
}

TEST_F(BackupTest, InspectNamesTheSchemaOfALaterVersion) {
  Write(file_, 1, "x");
  SQLite::Database(file_, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 9");
  const auto info = Inspect(file_, kSoon);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->schema, 9);
  EXPECT_EQ(info->supported, kHistorySchema);
  EXPECT_THAT(info->tables, IsEmpty());
}

TEST_F(BackupTest, InspectRefusesOtherFiles) {
  std::ofstream(file_) << std::string(5000, 'x');
  EXPECT_FALSE(Inspect(file_, kSoon));
  EXPECT_FALSE(Inspect((folder_ / "none").string(), kSoon));
}

}  // namespace
}  // namespace rocescope
