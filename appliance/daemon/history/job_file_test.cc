// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/job_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "appliance/daemon/history/database.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kLong = std::chrono::seconds(20);

Timestamp At(int64_t time) { return Timestamp(std::chrono::seconds(time)); }

Allocation Job(uint64_t id) {
  return {.id = id,
          .name = "pre \"train\"\n",
          .user = "ada",
          .nodes = {{.name = "host1", .gpus = {0, 1, 5}}, {.name = "host2"}, {.name = "host3"}},
          .start = At(100)};
}

class JobFileTest : public testing::Test {
 protected:
  JobFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-jobs-" + std::to_string(getpid()))),
        path_((folder_ / "jobs.db").string()) {
    std::filesystem::create_directories(folder_);
  }
  ~JobFileTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<JobFile> Open() {
    auto file = JobFile::Open(path_, [&](Severity, const std::string& text) { notices_ += text; });
    EXPECT_TRUE(file) << file.error().message;
    return file ? *std::move(file) : nullptr;
  }
  std::string ErrorOfOpening() {
    const auto file = JobFile::Open(path_, [](Severity, const std::string&) {});
    return file ? "" : file.error().message;
  }
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  void Execute(const char* sql) {
    auto database = OpenDatabase(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    ASSERT_TRUE(database) << database.error().message;
    database->exec(sql);
  }
  // The ids in the file, as another process sees them.
  std::vector<uint64_t> IdsInFile() {
    std::vector<uint64_t> ids;
    const auto database = OpenDatabase(path_, SQLite::OPEN_READONLY);
    if (!database) return ids;
    SQLite::Statement row(*database, "SELECT id FROM registered_jobs ORDER BY id");
    while (row.executeStep()) ids.push_back(row.getColumn(0).getInt64());
    return ids;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::string notices_;
};

TEST_F(JobFileTest, RestoresSavedJobs) {
  Allocation ended = Job(8);
  ended.state = AllocationState::kEnded;
  ended.end = At(200);
  Open()->Save({Job(7), ended});
  const auto file = Open();
  ASSERT_THAT(file->found(), SizeIs(2));
  const Allocation& found = file->found()[0];
  EXPECT_EQ(found.id, 7u);
  EXPECT_EQ(found.name, Job(7).name);
  EXPECT_EQ(found.user, "ada");
  EXPECT_EQ(found.start, At(100));
  EXPECT_EQ(found.end, std::nullopt);
  EXPECT_EQ(found.state, AllocationState::kHeld);
  ASSERT_THAT(found.nodes, SizeIs(3));
  EXPECT_EQ(found.nodes[0].gpus, (std::vector<uint32_t>{0, 1, 5}));
  EXPECT_EQ(found.nodes[2].name, "host3");
  EXPECT_EQ(file->found()[1].state, AllocationState::kEnded);
  EXPECT_EQ(file->found()[1].end, At(200));
  EXPECT_EQ(notices_, "");
}

TEST_F(JobFileTest, WritesTheNewestVersionWhileOpen) {
  const auto file = Open();
  for (uint64_t id = 1; id <= 50; ++id) file->Save({Job(id)});
  ASSERT_TRUE(file->Flush(kLong));
  EXPECT_THAT(IdsInFile(), ElementsAre(50));
}

TEST_F(JobFileTest, WaitForReturnsWhenTheVersionIsOnDisk) {
  const auto file = Open();
  for (uint64_t id = 1; id <= 20; ++id) {
    ASSERT_TRUE(file->WaitFor(file->Save({Job(id)}), kLong));
    EXPECT_THAT(IdsInFile(), ElementsAre(id));
  }
}

TEST_F(JobFileTest, WritesChangedNewAndRemovedJobs) {
  const auto file = Open();
  const auto save = [&](std::vector<Allocation> jobs) {
    ASSERT_TRUE(file->WaitFor(file->Save(std::move(jobs)), kLong));
  };
  save({Job(1), Job(3), Job(5), Job(7)});
  Allocation renamed = Job(3);
  renamed.name = "renamed";
  Allocation moved = Job(7);
  moved.nodes = {{.name = "host9"}};
  save({renamed, Job(4), Job(5), moved});
  EXPECT_THAT(IdsInFile(), ElementsAre(3, 4, 5, 7));
  Execute("DELETE FROM registered_jobs WHERE id = 5");  // by another process
  save({renamed, Job(4), Job(5), moved, Job(8)});
  EXPECT_THAT(IdsInFile(), ElementsAre(3, 4, 5, 7, 8));
}

// Another process changes a row so that the file looks the same: the row keeps the change.
TEST_F(JobFileTest, DoesNotWriteJobsThatDidNotChange) {
  const auto file = Open();
  ASSERT_TRUE(file->WaitFor(file->Save({Job(1), Job(2)}), kLong));
  const auto time = std::filesystem::last_write_time(path_);
  Execute("UPDATE registered_jobs SET user = 'eve' WHERE id = 1");
  std::filesystem::last_write_time(path_, time);
  ASSERT_TRUE(file->WaitFor(file->Save({Job(1), Job(2), Job(3)}), kLong));
  auto database = OpenDatabase(path_, SQLite::OPEN_READONLY);
  ASSERT_TRUE(database);
  EXPECT_EQ(database->execAndGet("SELECT group_concat(user) FROM registered_jobs").getString(),
            "eve,ada,ada");
}

TEST_F(JobFileTest, KeepsLargeIdsApart) {
  Open()->Save({Job(UINT64_MAX), Job(UINT64_MAX - 1)});
  const auto file = Open();
  ASSERT_THAT(file->found(), SizeIs(2));
  EXPECT_EQ(file->found()[0].id + file->found()[1].id, UINT64_MAX + (UINT64_MAX - 1));
}

TEST_F(JobFileTest, NonRegularFileIsAnErrorAndUnchanged) {
  std::filesystem::create_directories(folder_ / "folder");
  std::filesystem::create_symlink(folder_ / "folder", folder_ / "link");
  std::filesystem::create_symlink(folder_ / "nothing", folder_ / "nowhere");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const char* name : {"folder", "link", "nowhere", "pipe"}) {
    const auto kind = std::filesystem::symlink_status(folder_ / name).type();
    path_ = (folder_ / name).string();
    EXPECT_THAT(ErrorOfOpening(), AllOf(HasSubstr(path_), HasSubstr("(key `jobs.file`)")));
    EXPECT_EQ(std::filesystem::symlink_status(path_).type(), kind) << name;
    EXPECT_FALSE(std::filesystem::exists(path_ + ".lock")) << name;
  }
}

TEST_F(JobFileTest, KeepsASymbolicLink) {
  std::ofstream(folder_ / "elsewhere");
  std::filesystem::create_symlink(folder_ / "elsewhere", path_);
  Open()->Save({Job(7)});
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_THAT(Open()->found(), SizeIs(1));
}

TEST_F(JobFileTest, ReplacementOfTheFileIsUnchanged) {
  const auto file = Open();
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(file->WaitFor(file->Save({Job(7)}), kLong));
  EXPECT_THAT(file->problem(), HasSubstr("not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(JobFileTest, WaitForReturnsFalseSoonAfterAFailedWrite) {
  const auto file = Open();
  std::filesystem::create_directories(path_);
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t first = file->Save({Job(7)});
  EXPECT_FALSE(file->WaitFor(first, kLong));
  const uint64_t second = file->Save({Job(7), Job(8)});
  EXPECT_FALSE(file->WaitFor(second, kLong)) << "the folder is still there";
  EXPECT_FALSE(file->WaitFor(first, kLong)) << "the first version was never written";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
  std::filesystem::remove(path_);
  EXPECT_TRUE(file->Flush(kLong));
  EXPECT_TRUE(file->WaitFor(second, kLong));
  EXPECT_THAT(IdsInFile(), ElementsAre(7, 8));
}

TEST_F(JobFileTest, RemovedFileIsWrittenAgain) {
  const auto file = Open();
  ASSERT_TRUE(file->WaitFor(file->Save({Job(7)}), kLong));
  std::filesystem::remove(path_);
  ASSERT_TRUE(file->WaitFor(file->Save({Job(7), Job(8)}), kLong));
  EXPECT_THAT(IdsInFile(), ElementsAre(7, 8));
}

TEST_F(JobFileTest, DamagedFileIsMovedAsideAndReported) {
  Open()->Save({Job(7)});
  std::filesystem::resize_file(path_, 4096 + 100);
  const auto file = Open();
  EXPECT_THAT(file->found(), IsEmpty());
  EXPECT_THAT(notices_, AllOf(HasSubstr(path_), HasSubstr(".broken-")));
  EXPECT_THAT(file->losses(), ElementsAre(HasSubstr(".broken-")));
}

TEST_F(JobFileTest, InvalidJobIsReportedAndOthersAreRestored) {
  Open()->Save({Job(7), Job(8)});
  Execute("UPDATE registered_jobs SET nodes = 'host[' WHERE id = 7");
  const auto file = Open();
  ASSERT_THAT(file->found(), SizeIs(1));
  EXPECT_EQ(file->found()[0].id, 8u);
  EXPECT_THAT(notices_, HasSubstr("job 7 is not restored"));
}

TEST_F(JobFileTest, TextThatIsNotUtf8IsReportedAndOtherJobsAreRestored) {
  for (const char* column : {"name", "user"}) {
    Open()->Save({Job(7), Job(8)});
    Execute(
        fmt::format("UPDATE registered_jobs SET {} = CAST(x'61ff' AS TEXT) WHERE id = 7", column)
            .c_str());
    const auto file = Open();
    ASSERT_THAT(file->found(), SizeIs(1));
    EXPECT_EQ(file->found()[0].id, 8u);
    EXPECT_THAT(notices_,
                HasSubstr(fmt::format("{}: job 7 is not restored: its {} is not valid UTF-8", path_,
                                      column)));
  }
}

TEST_F(JobFileTest, OtherFileFormatIsAnErrorAndUnchanged) {
  for (const char* text : {"{\"jobs\":[]}\n", "id,name\n7,train\n", "\n"}) {
    Write(text);
    EXPECT_THAT(ErrorOfOpening(), AllOf(HasSubstr(path_), HasSubstr("(key `jobs.file`)")));
    std::ifstream file(path_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  }
}

TEST_F(JobFileTest, DatabaseOfAnotherProgramIsAnErrorAndUnchanged) {
  Execute("CREATE TABLE music (title TEXT)");
  for (const char* mark : {"PRAGMA application_id = 0", "PRAGMA application_id = 0x526f4345"}) {
    Execute(mark);
    EXPECT_THAT(ErrorOfOpening(), HasSubstr("another program"));
  }
}

TEST_F(JobFileTest, DatabaseWithoutTheTableIsAnErrorAndUnchanged) {
  Execute("CREATE TABLE music (title TEXT); DROP TABLE music");
  const auto size = std::filesystem::file_size(path_);
  EXPECT_THAT(ErrorOfOpening(),
              HasSubstr("jobs.db: an SQLite database without tables, not a job file of rocescope; "
                        "the file was not changed; use another file (key `jobs.file`)"));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  std::filesystem::remove(path_);
  Open()->Save({Job(7)});
  Execute("DROP TABLE registered_jobs; CREATE TABLE music (title TEXT)");
  EXPECT_THAT(ErrorOfOpening(), AllOf(HasSubstr("jobs.db: the table registered_jobs is missing"),
                                      HasSubstr("(key `jobs.file`)")));
}

// A disk error in the first transaction leaves a header without tables.
TEST_F(JobFileTest, FileWithNothingButAHeaderIsUsed) {
  Execute("PRAGMA journal_mode = WAL; PRAGMA journal_mode = DELETE");
  ASSERT_GT(std::filesystem::file_size(path_), 0u);
  const auto file = Open();
  EXPECT_TRUE(file->WaitFor(file->Save({Job(7)}), kLong));
}

TEST_F(JobFileTest, TableDroppedAtRunTimeIsAProblem) {
  const auto file = Open();
  ASSERT_TRUE(file->WaitFor(file->Save({Job(7)}), kLong));
  Execute("DROP TABLE registered_jobs");
  EXPECT_FALSE(file->WaitFor(file->Save({Job(8)}), kLong));
  EXPECT_THAT(file->problem(), HasSubstr("the table registered_jobs is missing"));
}

TEST_F(JobFileTest, IsReadableForItsOwnerOnly) {
  const mode_t before = umask(0);
  for (int i = 0; i < 2; ++i) {
    const auto file = Open();
    ASSERT_TRUE(file->WaitFor(file->Save({Job(7)}), kLong));
    for (const std::string& part : {path_, path_ + ".lock"}) {
      EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(part).permissions()), 0600u) << part;
      std::filesystem::permissions(part, std::filesystem::perms(0644));  // an earlier version
    }
  }
  umask(before);
  EXPECT_EQ(notices_, "");
}

TEST_F(JobFileTest, IntegrityCheckFindsADamagedFreeList) {
  Open()->Save({Job(7)});
  constexpr int kFreePages = 36;  // offset of the number of free pages
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(kFreePages)
      .write("\0\0\0\7", 4);
  EXPECT_THAT(Open()->found(), IsEmpty());
  EXPECT_THAT(notices_, AllOf(HasSubstr("integrity check"), HasSubstr(".broken-")));
}

TEST_F(JobFileTest, AnEmptyFileHasNoJobs) {
  Write("");
  EXPECT_THAT(Open()->found(), IsEmpty());
  EXPECT_EQ(notices_, "");
}

TEST_F(JobFileTest, InaccessibleFileIsAnError) {
  std::filesystem::create_symlink(path_, path_);  // ELOOP
  EXPECT_THAT(ErrorOfOpening(), AllOf(HasSubstr(path_), HasSubstr("(key `jobs.file`)")));
}

TEST_F(JobFileTest, NewerVersionIsUnchanged) {
  Open()->Save({Job(7)});
  Execute("PRAGMA user_version = 2");
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("schema 2 of a newer rocescope"));
  EXPECT_THAT(IdsInFile(), ElementsAre(7));
}

TEST_F(JobFileTest, IsLockedByOneProcess) {
  const auto file = Open();
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("use another file (key `jobs.file`)"));
}

TEST_F(JobFileTest, WriteFailureIsAProblemUntilAWriteSucceeds) {
  const auto file = Open();
  std::filesystem::create_directories(path_);
  file->Save({Job(7)});
  EXPECT_FALSE(file->Flush(std::chrono::milliseconds(300)));
  EXPECT_THAT(file->problem(), HasSubstr("jobs.db: is a folder"));
  std::filesystem::remove(path_);
  EXPECT_TRUE(file->Flush(kLong));
  EXPECT_EQ(file->problem(), "");
}

// SQLite would wait in open() until another process opens the pipe.
TEST_F(JobFileTest, PipeInPlaceOfASideFileIsAProblemUntilItIsRemoved) {
  for (const char* side : {"-journal", "-wal", "-shm"}) {
    const std::string pipe = path_ + side;
    const auto file = Open();
    ASSERT_TRUE(file->WaitFor(file->Save({Job(7)}), kLong)) << side;
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    file->Save({Job(7), Job(8)});
    EXPECT_FALSE(file->Flush(std::chrono::milliseconds(300))) << side;
    EXPECT_EQ(file->problem(), pipe + ": not a regular file; the path was not changed; remove it");
    std::filesystem::remove(pipe);
    EXPECT_TRUE(file->Flush(kLong)) << side;
    EXPECT_EQ(file->problem(), "");
    EXPECT_THAT(IdsInFile(), ElementsAre(7, 8));
  }
}

TEST_F(JobFileTest, PipeInPlaceOfASideFileIsAnErrorAtStart) {
  Open()->Save({Job(7)});
  ASSERT_EQ(mkfifo((path_ + "-journal").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("jobs.db-journal: not a regular file"));
}

TEST_F(JobFileTest, DestructorAbandonsAThreadThatHangs) {
  struct Shared {
    std::promise<void> reached, go_on, done;
    std::string last;
    std::mutex mutex;
  };
  const auto shared = std::make_shared<Shared>();
  // The thread reports a damaged file, and hangs in that.
  const Notify notify = [shared](Severity, const std::string& text) {
    if (text.find("moved the file") == std::string::npos) {
      const std::lock_guard lock(shared->mutex);
      shared->last = text;
      return;
    }
    shared->reached.set_value();
    shared->go_on.get_future().wait();
    shared->done.set_value();
  };
  auto file = JobFile::Open(path_, notify, std::chrono::milliseconds(100));
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->WaitFor((*file)->Save({Job(7)}), kLong));
  std::filesystem::resize_file(path_, 4096 + 100);
  (*file)->Save({Job(8)});
  shared->reached.get_future().wait();
  const auto begin = std::chrono::steady_clock::now();
  file->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong);
  {
    const std::lock_guard lock(shared->mutex);
    EXPECT_THAT(shared->last, AllOf(HasSubstr(path_), HasSubstr("ending without it")));
  }
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("another rocescope process")) << "the lock is kept";
  shared->go_on.set_value();
  shared->done.get_future().wait();
  const auto end = begin + kLong;
  while (!ErrorOfOpening().empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(ErrorOfOpening(), "");
}

TEST_F(JobFileTest, AlteredSchemaIsAnErrorAndUnchanged) {
  constexpr const char* kRow = "INSERT INTO registered_jobs (id, name, user, ended";
  const auto columns = [](const char* name, const char* nodes) {
    return fmt::format(
        "DROP TABLE registered_jobs; CREATE TABLE registered_jobs (id INTEGER PRIMARY KEY, "
        "name TEXT NOT NULL{}, user TEXT NOT NULL, ended INTEGER NOT NULL, start_ns INTEGER, "
        "end_ns INTEGER, nodes TEXT NOT NULL{});",
        name, nodes);
  };
  for (const std::string& change :
       {columns("", " AS (hex(zeroblob(30000000)))") + kRow + ") VALUES (7, 'a', 'b', 0)",
        columns(" CHECK (length(hex(zeroblob(30000000))) > 0)", "") + kRow +
            ", nodes) VALUES (7, 'a', 'b', 0, 'host1')",
        std::string("ALTER TABLE registered_jobs ADD COLUMN extra DEFAULT 'a'"),
        std::string("CREATE INDEX registered_jobs_by_name ON registered_jobs (length(name))"),
        std::string("CREATE TABLE more (x CHECK (x > 0))"),
        std::string("CREATE VIEW v AS SELECT 1"),
        std::string("CREATE TRIGGER t AFTER INSERT ON registered_jobs BEGIN "
                    "DELETE FROM registered_jobs; END")}) {
    std::filesystem::remove(path_);
    Open()->Save({Job(7)});
    Execute(change.c_str());
    EXPECT_THAT(ErrorOfOpening(),
                AllOf(HasSubstr("in the schema was not created by rocescope, or was changed"),
                      HasSubstr("(key `jobs.file`)")))
        << change;
    EXPECT_THAT(IdsInFile(), ElementsAre(7)) << change;
  }
}

TEST_F(JobFileTest, ValuesOverTheLimitAreDamage) {
  Open()->Save({Job(7)});
  SQLite::Database(path_, SQLite::OPEN_READWRITE)
      .exec("UPDATE registered_jobs SET nodes = CAST(zeroblob(80000000) AS TEXT)");
  EXPECT_THAT(Open()->found(), IsEmpty());
  EXPECT_THAT(notices_, AllOf(HasSubstr("too big"), HasSubstr(".broken-")));
}

// The API reports it as a job without an id.
TEST_F(JobFileTest, JobWithIdZeroIsSkipped) {
  Open()->Save({Job(7), Job(8)});
  Execute("UPDATE registered_jobs SET id = 0 WHERE id = 7");
  const auto file = Open();
  ASSERT_THAT(file->found(), SizeIs(1));
  EXPECT_EQ(file->found()[0].id, 8u);
  EXPECT_THAT(file->losses(), ElementsAre(HasSubstr("job 0 is not restored")));
}

}  // namespace
}  // namespace rocescope
