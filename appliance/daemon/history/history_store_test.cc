// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/history_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/file_lock.h"
#include "appliance/daemon/history/history_fixture.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HistoryStoreTest : public HistoryTest {};

TEST_F(HistoryStoreTest, RestoresAddedRows) {
  {
    const auto store = Open(Options());
    ASSERT_TRUE(store) << store.error().message;
    (*store)->Add(EventAt(1, "one"));
    (*store)->Add(EventAt(2, "two"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    EXPECT_THAT((*store)->Events({})->messages, ElementsAre("two", "one"));
    (*store)->Add(EventAt(3, std::string("th\0ree", 6)));
  }
  const auto store = Open(Options());
  EXPECT_THAT((*store)->Events({})->messages, ElementsAre(std::string("th\0ree", 6), "two", "one"));
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(HistoryStoreTest, MinuteContinuesAfterARestart) {
  for (const uint64_t bytes : {100, 23}) {
    const auto store = Open(Options());
    (*store)->Add(LinkAt(7, "leaf0:Ethernet1", bytes));
    (*store)->Add(JobMinute{.minute = 7, .job = "j", .looks = 1, .bytes = bytes, .service = 2});
  }
  const auto store = Open(Options());
  const auto links = (*store)->LinkSeries({.name = "leaf0:Ethernet1"});
  ASSERT_TRUE(links) << links.error().message;
  ASSERT_THAT(links->points, SizeIs(1));
  EXPECT_EQ(links->points[0].bytes, 123u);
  EXPECT_EQ(links->points[0].use_windows, 2u);
  EXPECT_EQ(links->points[0].use_sum, 1.0);
  EXPECT_EQ(links->points[0].use_most, 0.5);
  const auto jobs = (*store)->JobSeries({.name = "j"});
  ASSERT_THAT(jobs->points, SizeIs(1));
  EXPECT_EQ(jobs->points[0].bytes, 123u);
  EXPECT_EQ(jobs->points[0].looks, 2u);
  EXPECT_EQ(jobs->points[0].service, 2u);
}

TEST_F(HistoryStoreTest, EveryRowIsWrittenOrDroppedOrWaits) {
  HistoryOptions options = Options();
  options.queue.rows = 10;
  options.pace = std::chrono::seconds(60);  // no rows are taken before Flush
  const auto store = Open(options);
  for (int i = 0; i < 25; ++i) (*store)->Add(EventAt(i));
  HistoryCounts counts = (*store)->counts();
  EXPECT_EQ(counts.added, 25u);
  EXPECT_EQ(counts.dropped, 15u);
  ASSERT_TRUE((*store)->Flush(kSoon));
  counts = (*store)->counts();
  EXPECT_EQ(counts.written, 10u);
  EXPECT_EQ(counts.written + counts.dropped, counts.added);
  EXPECT_THAT((*store)->Events({})->messages, SizeIs(10));
}

// The thread checks the file every two seconds.
bool Restarts(HistoryStore& store) {
  for (int i = 0; i < 100; ++i) {
    if (!store.counts().problem.empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

TEST_F(HistoryStoreTest, RemovedFileIsReportedAndReplaced) {
  {
    const auto store = Open(Options());
    (*store)->Add(EventAt(1, "lost"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    std::filesystem::remove(file_);
    ASSERT_TRUE(Restarts(**store));
    EXPECT_THAT((*store)->counts().problem, HasSubstr("the file was removed or replaced"));
    (*store)->Add(EventAt(2, "kept"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    EXPECT_EQ((*store)->counts().problem, "");
    EXPECT_THAT((*store)->Events({})->messages, ElementsAre("kept"));
  }
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("the file was removed or replaced"),
                                    HasSubstr("is writable again")));
  const auto store = Open(Options());
  EXPECT_THAT((*store)->Events({})->messages, ElementsAre("kept"));
}

TEST_F(HistoryStoreTest, ReplacementFileIsNotMixedWithThePreviousOne) {
  const std::string before = file_ + ".before";
  {
    const auto store = Open(Options());
    (*store)->Add(EventAt(1, "of the copy"));
  }
  std::filesystem::copy_file(file_, before);
  const auto store = Open(Options());
  for (int i = 0; i < 100; ++i) (*store)->Add(EventAt(2 + i, "lost"));
  ASSERT_TRUE((*store)->Flush(kSoon));
  std::filesystem::rename(before, file_);
  ASSERT_TRUE(Restarts(**store));
  (*store)->Add(EventAt(3, "kept"));
  ASSERT_TRUE((*store)->Flush(kSoon));
  EXPECT_THAT((*store)->Events({})->messages, ElementsAre("kept", "of the copy"));
}

TEST_F(HistoryStoreTest, ForeignReplacementFileIsUnchanged) {
  const auto store = Open(Options());
  std::filesystem::remove(file_);
  std::ofstream(file_) << "a diary";
  ASSERT_TRUE(Restarts(**store));
  (*store)->Add(EventAt(1, "dropped"));
  ASSERT_TRUE((*store)->Flush(kSoon));
  EXPECT_EQ((*store)->counts().dropped, 1u);
  EXPECT_NE((*store)->counts().problem, "");
  std::ifstream text(file_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), "a diary");
}

// Limits the size of files of this process, which simulates a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(HistoryStoreTest, FullDiskDropsAndCountsRows) {
  const std::string large(10'000, 'x');
  {
    const auto store = Open(Options());
    (*store)->Add(EventAt(1, "before"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    {
      const FileSizeLimit limit(300'000);
      for (int i = 0; i < 200; ++i) (*store)->Add(EventAt(2, large));
      ASSERT_TRUE((*store)->Flush(kSoon));
      // A last small batch may have fitted. This row does not fit alone.
      (*store)->Add(EventAt(2, std::string(1'000'000, 'x')));
      ASSERT_TRUE((*store)->Flush(kSoon));
      const HistoryCounts counts = (*store)->counts();
      EXPECT_GT(counts.dropped, 0u);
      EXPECT_GT(counts.errors, 0u);
      EXPECT_EQ(counts.written + counts.dropped, counts.added);
      EXPECT_THAT(counts.problem, HasSubstr(file_));
      EXPECT_TRUE((*store)->Events({.until = FromNanoseconds(2)})) << "stored events are readable";
    }
    (*store)->Add(EventAt(3, "after"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    EXPECT_EQ((*store)->counts().problem, "");
    EXPECT_EQ((*store)->Events({.most = 1})->messages, std::vector<std::string>{"after"});
  }
  // A small batch may fit after a large one did not.
  ASSERT_GE(notices_.size(), 2u);
  for (size_t i = 0; i < notices_.size(); ++i) {
    EXPECT_THAT(notices_[i], HasSubstr(i % 2 == 0 ? "rows are dropped" : "is writable again"));
  }
  EXPECT_EQ(notices_.size() % 2, 0u) << "the last message reports the recovery";
}

TEST_F(HistoryStoreTest, DeletesTheOldestEventsAtTheSizeLimit) {
  HistoryOptions options = Options();
  options.retention.max_bytes = 1 << 20;
  const auto store = Open(options);
  constexpr int kEvents = 5000;
  for (int i = 0; i < kEvents; ++i) {
    (*store)->Add(EventAt(i, std::to_string(i) + std::string(1000, ' ')));
    if (i % 100 == 99) {
      ASSERT_TRUE((*store)->Flush(kSoon));
    }
  }
  const HistoryCounts counts = (*store)->counts();
  EXPECT_EQ(counts.written, uint64_t{kEvents}) << "old rows were deleted in time";
  EXPECT_LT(std::filesystem::file_size(file_), uint64_t{1} << 20);
  const auto last = (*store)->Events({.most = 1000});
  ASSERT_TRUE(last);
  ASSERT_FALSE(last->messages.empty());
  EXPECT_THAT(last->messages.front(), HasSubstr("4999"));
  EXPECT_LT(last->messages.size(), 1000u);
}

TEST_F(HistoryStoreTest, ClockTenYearsAheadDeletesNothing) {
  static constexpr Duration kTenYears = std::chrono::hours(24 * 3652);
  HistoryOptions options = Options();
  options.retention.keep_events = std::chrono::hours(24 * 90);
  options.retention.keep_series = std::chrono::hours(24 * 14);
  const int64_t now_ns = ToNanoseconds(WallClock());
  {
    const auto store = Open(options);
    for (int i = 0; i < 100; ++i) (*store)->Add(EventAt(now_ns + i, "kept"));
    ASSERT_TRUE((*store)->Flush(kSoon));
  }
  options.wall_clock = [] { return WallClock() + kTenYears; };
  const auto store = Open(options);
  // The thread deletes old rows after each write, if it is due.
  for (int i = 0; i < 3; ++i) {
    (*store)->Add(EventAt(now_ns + kTenYears.count(), "new"));
    ASSERT_TRUE((*store)->Flush(kSoon));
  }
  EXPECT_THAT((*store)->Events({.most = 1000})->messages, SizeIs(103));
  EXPECT_TRUE((*store)->counts().retention.is_suspended);
}

// A connection of another program, which can do what OpenDatabase forbids. Waits while the store
// writes.
SQLite::Database Foreign(const std::string& file) {
  return {file, SQLite::OPEN_READWRITE, /*busy timeout in ms=*/20'000};
}

// Simulates a misdirected write: the table of events starts beyond the end of the file.
void Break(const std::string& file) {
  SQLite::Database database = Foreign(file);
  for (const char* sql : {"PRAGMA writable_schema = ON",
                          "UPDATE sqlite_schema SET rootpage = 1000000 WHERE name = 'events'",
                          "PRAGMA schema_version = 1000"}) {
    database.exec(sql);
  }
}

TEST_F(HistoryStoreTest, DroppedTableIsDamage) {
  for (const char* table : {"events", "link_minutes", "event_jobs"}) {
    {
      const auto store = Open(Options());
      ASSERT_TRUE((*store)->Flush(kSoon));
      Foreign(file_).exec(fmt::format("DROP TABLE {}", table));
      // The thread checks the file every two seconds, also without new rows.
      bool is_moved = false;
      for (int i = 0; i < 100 && !is_moved; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        is_moved = !FilesWith(".broken-").empty();
      }
      ASSERT_TRUE(is_moved) << table;
      (*store)->Add(EventAt(1, "kept"));
      ASSERT_TRUE((*store)->Flush(kSoon));
      EXPECT_THAT((*store)->Events({})->messages, ElementsAre("kept"));
      EXPECT_EQ((*store)->counts().dropped, 0u);
    }
    ASSERT_THAT(notices_, SizeIs(1));
    EXPECT_THAT(notices_[0], AllOf(HasSubstr(table), HasSubstr("started a new history")));
    notices_.clear();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
}

TEST_F(HistoryStoreTest, WriteToADroppedTableMovesTheFileAside) {
  const auto store = Open(Options());
  (*store)->Add(EventAt(1));
  ASSERT_TRUE((*store)->Flush(kSoon));
  Foreign(file_).exec("DROP TABLE link_minutes");
  (*store)->Add(LinkAt(1, "leaf0:1", 5));
  ASSERT_TRUE((*store)->Flush(kSoon));
  EXPECT_THAT((*store)->LinkSeries({.name = "leaf0:1"})->points, SizeIs(1));
  EXPECT_THAT(FilesWith(".broken-"), testing::Not(IsEmpty()));
}

TEST_F(HistoryStoreTest, DamageInTheMiddleIsFoundAtTheStart) {
  {
    const auto store = Open(Options());
    for (int i = 0; i < 5000; ++i) (*store)->Add(EventAt(i, std::string(500, 'x')));
    ASSERT_TRUE((*store)->Flush(kSoon));
  }
  const auto middle = std::filesystem::file_size(file_) / 4096 / 2 * 4096;
  std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(middle))
      .write(std::string(4096, '\xff').data(), 4096);
  {
    const auto store = Open(Options());
    ASSERT_TRUE(store) << store.error().message;
    (*store)->Add(EventAt(1, "new"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    EXPECT_THAT((*store)->Events({})->messages, ElementsAre("new"));
  }
  EXPECT_THAT(FilesWith(".broken-"), SizeIs(1));
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_THAT(notices_[0], AllOf(HasSubstr(file_), HasSubstr("started a new history")));
}

unsigned ModeOf(const std::string& path) {
  return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

TEST_F(HistoryStoreTest, FilesAreReadableForTheirOwnerOnly) {
  const mode_t before = umask(0);
  for (const bool is_old : {false, true}) {
    const auto store = Open(Options());
    (*store)->Add(EventAt(1));
    ASSERT_TRUE((*store)->Flush(kSoon));
    for (const char* part : {"", "-wal", "-shm", ".lock"}) {
      EXPECT_EQ(ModeOf(file_ + part), kPrivateMode) << part << is_old;
      // As an earlier version left them.
      std::filesystem::permissions(file_ + part, std::filesystem::perms(0644));
    }
  }
  umask(before);
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(HistoryStoreTest, SymbolicLinkSharesTheLockOfItsTarget) {
  ASSERT_TRUE(Open(Options()));
  std::filesystem::create_directories(folder_ / "links");
  HistoryOptions link = Options();
  link.file = (folder_ / "links" / "link.db").string();
  std::filesystem::create_symlink(file_, link.file);
  const auto store = Open(link);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->file(), std::filesystem::canonical(file_));
  for (const HistoryOptions& options : {link, Options()}) {
    const auto second = Open(options);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("another rocescope process uses the file"));
  }
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_ / "links"))
    ++files;
  EXPECT_EQ(files, 1u) << "all side files are next to the target";
}

TEST_F(HistoryStoreTest, SlowQueryIsCancelled) {
  HistoryOptions options = Options();
  {
    const auto store = Open(options);
    for (int i = 0; i < 20'000; ++i) (*store)->Add(EventAt(i, "m"));
    for (int i = 0; i < 10'000; ++i) (*store)->Add(LinkAt(i, "leaf0:1", 1));
    ASSERT_TRUE((*store)->Flush(kSoon));
    EXPECT_TRUE((*store)->Events({.job = "nobody"}));
  }
  options.longest_question = {};
  const auto store = Open(options);
  const auto events = (*store)->Events({.job = "nobody"});
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(events.error().message, HasSubstr("cancelled after 0.0 s"));
  const auto links = (*store)->LinkSeries({.name = "leaf0:1"});
  ASSERT_FALSE(links);
  EXPECT_EQ(links.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(HistoryStoreTest, DamagedFileIsMovedAsideOnce) {
  {
    const auto store = Open(Options());
    (*store)->Add(EventAt(1, "before"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    Break(file_);
    (*store)->Add(EventAt(2, "after"));
    ASSERT_TRUE((*store)->Flush(kSoon));
    EXPECT_THAT((*store)->Events({})->messages, ElementsAre("after"));
    EXPECT_EQ((*store)->counts().dropped, 0u);
    Break(file_);
    for (int i = 0; i < 3; ++i) {
      (*store)->Add(EventAt(3));
      ASSERT_TRUE((*store)->Flush(kSoon));
    }
    const HistoryCounts counts = (*store)->counts();
    EXPECT_EQ(counts.written, 2u);
    EXPECT_EQ(counts.dropped, 3u);
    EXPECT_NE(counts.problem, "");
  }
  EXPECT_THAT(FilesWith(".broken-"), testing::Not(IsEmpty()));
  ASSERT_THAT(notices_, SizeIs(2));
  EXPECT_THAT(notices_[0], HasSubstr("started a new history"));
  EXPECT_THAT(notices_[1], HasSubstr("rows are dropped"));
}

TEST_F(HistoryStoreTest, PipeInPlaceOfASideFileDoesNotBlockQueries) {
  const auto store = Open(Options());
  ASSERT_TRUE((*store)->Flush(kSoon));
  ASSERT_EQ(mkfifo((file_ + "-journal").c_str(), 0600), 0);
  const auto page = (*store)->Events({});
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("history.db-journal: not a regular file"));
  std::filesystem::remove(file_ + "-journal");
  EXPECT_TRUE((*store)->Events({}));
}

TEST_F(HistoryStoreTest, SeriesStartAtTheRetentionTime) {
  HistoryOptions options = Options();
  options.retention.keep_series = std::chrono::hours(24);
  constexpr int64_t kToday = 29'000'000;
  options.wall_clock = [] { return FromNanoseconds(kToday * kMinute.count()); };
  const auto store = Open(options);
  // Ten rows, of which a step deletes only a part.
  for (int64_t i = 0; i < 10; ++i) (*store)->Add(LinkAt(1 + i, "p", 1));
  (*store)->Add(LinkAt(kToday - 2, "p", 1));
  ASSERT_TRUE((*store)->Flush(kSoon));
  const auto series = (*store)->LinkSeries({.name = "p", .max_points = 2000});
  ASSERT_TRUE(series);
  EXPECT_EQ(series->step, kMinute);
  EXPECT_THAT(series->points, SizeIs(1));
}

TEST_F(HistoryStoreTest, DestructorAbandonsAThreadThatHangs) {
  struct Shared {
    std::promise<void> reached, go_on;
    std::mutex mutex;
    std::string last;
  };
  const auto shared = std::make_shared<Shared>();
  // The thread reports that the file was removed, and hangs in that.
  const Notify notify = [shared](Severity, const std::string& text) {
    if (text.find("was removed") != std::string::npos) {
      shared->reached.set_value();
      shared->go_on.get_future().wait();
      return;
    }
    const std::lock_guard lock(shared->mutex);
    shared->last = text;
  };
  HistoryOptions options = Options();
  options.longest_end = std::chrono::milliseconds(100);
  auto store = HistoryStore::Open(options, notify);
  ASSERT_TRUE(store);
  std::filesystem::remove(file_);
  shared->reached.get_future().wait();
  store->reset();
  {
    const std::lock_guard lock(shared->mutex);
    EXPECT_THAT(shared->last, AllOf(HasSubstr(file_), HasSubstr("ending without it")));
  }
  EXPECT_FALSE(FileLock::Take(file_)) << "the lock is kept";
  shared->go_on.set_value();
  const auto end = std::chrono::steady_clock::now() + kSoon;
  while (!FileLock::Take(file_) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(FileLock::Take(file_));
}

}  // namespace
}  // namespace rocescope
