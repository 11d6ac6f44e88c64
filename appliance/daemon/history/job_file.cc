// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/job_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "analytics/job/job_nodes.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/file_lock.h"
#include "appliance/daemon/history/history_file.h"
#include "base/thread_name.h"
#include "base/utf8.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongestPause = std::chrono::milliseconds(100);
constexpr auto kLate = std::chrono::seconds(1);
constexpr auto kRetryWrite = std::chrono::seconds(1);

// Reads all rows.
constexpr std::array kJobProbes = {
    "SELECT sum(length(name) + length(user) + length(nodes)) FROM registered_jobs"};

// The journal is deleted after each transaction, so that reading needs no space on the disk.
constexpr DatabaseKind kJobFileKind = {
    .name = "job",
    .key = "jobs.file",
    .application = 0x526f4a46,  // "RoJF"
    .schema = 1,
    .tables =
        "CREATE TABLE registered_jobs (id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
        "user TEXT NOT NULL, ended INTEGER NOT NULL, start_ns INTEGER, end_ns INTEGER, "
        "nodes TEXT NOT NULL);",
    .main_table = "registered_jobs",
    .pragmas = "PRAGMA synchronous = EXTRA",
    .probes = kJobProbes,
    .longest_check = std::chrono::seconds(2)};

std::optional<int64_t> NanosecondsOf(const std::optional<Timestamp>& time) {
  return time ? std::optional(ToNanoseconds(*time)) : std::nullopt;
}

std::optional<Timestamp> TimeOf(const SQLite::Column& column) {
  if (column.isNull()) return std::nullopt;
  return WithinBounds(FromNanoseconds(column.getInt64()));
}

// Reads lines of WriteJobNodes.
Result<std::vector<AllocatedNode>> NodesOf(const std::string& text) {
  std::vector<AllocatedNode> nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto some = ParseJobNodes(line);
    if (!some) return some;
    std::ranges::move(*some, std::back_inserter(nodes));
  }
  return nodes;
}

// The API cannot return other text.
bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const uint8_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::vector<Allocation> ReadJobs(SQLite::Database& database, const Notify& notify) {
  std::vector<Allocation> jobs;
  SQLite::Statement row(
      database, "SELECT id, name, user, ended, start_ns, end_ns, nodes FROM registered_jobs");
  while (row.executeStep()) {
    const auto id = static_cast<uint64_t>(row.getColumn(0).getInt64());
    const auto skip = [&](std::string_view why) {
      notify(Severity::kError,
             fmt::format("{}: job {} is not restored: {}", database.getFilename(), id, why));
    };
    if (id == 0) {
      skip("the id must be a positive integer");
      continue;
    }
    const std::string name = row.getColumn(1);
    const std::string user = row.getColumn(2);
    const bool is_ended = row.getColumn(3).getInt() != 0;
    auto nodes = NodesOf(row.getColumn(6));
    if (!nodes) {
      skip(nodes.error().message);
      continue;
    }
    if (!IsUtf8(name) || !IsUtf8(user)) {
      skip(fmt::format("its {} is not valid UTF-8", IsUtf8(name) ? "user" : "name"));
      continue;
    }
    jobs.push_back({.id = id,
                    .name = name,
                    .user = user,
                    .state = is_ended ? AllocationState::kEnded : AllocationState::kHeld,
                    .state_text = is_ended ? "COMPLETED" : "RUNNING",
                    .nodes = *std::move(nodes),
                    .start = TimeOf(row.getColumn(4)),
                    .end = TimeOf(row.getColumn(5))});
  }
  return jobs;
}

bool IsSame(const Allocation& a, const Allocation& b) {
  const auto is_same_node = [](const AllocatedNode& one, const AllocatedNode& other) {
    return one.name == other.name && one.gpus == other.gpus;
  };
  return a.state == b.state && a.start == b.start && a.end == b.end && a.name == b.name &&
         a.user == b.user && std::ranges::equal(a.nodes, b.nodes, is_same_node);
}

// Changes the rows of `before` to those of `jobs`. Both are in the order of ids.
void WriteJobs(SQLite::Database& database, const std::vector<Allocation>& before,
               const std::vector<Allocation>& jobs) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (before.empty()) database.exec("DELETE FROM registered_jobs");
  SQLite::Statement remove(database, "DELETE FROM registered_jobs WHERE id = ?1");
  SQLite::Statement write(database,
                          "INSERT OR REPLACE INTO registered_jobs (id, name, user, ended, "
                          "start_ns, end_ns, nodes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  // Ids above INT64_MAX are stored as negative numbers.
  auto old = before.begin();
  const auto remove_until = [&](auto is_end) {
    for (; old != before.end() && !is_end(*old); ++old) {
      Bound(remove, static_cast<int64_t>(old->id)).exec();
    }
  };
  for (const Allocation& job : jobs) {
    remove_until([&](const Allocation& one) { return one.id >= job.id; });
    if (old != before.end() && old->id == job.id && IsSame(*old++, job)) continue;
    Bound(write, static_cast<int64_t>(job.id), job.name, job.user,
          job.state == AllocationState::kEnded ? 1 : 0, NanosecondsOf(job.start),
          NanosecondsOf(job.end), fmt::format("{}", fmt::join(WriteJobNodes(job.nodes), "\n")))
        .exec();
  }
  remove_until([](const Allocation&) { return false; });
  transaction.commit();
}

// Identifies a file and its content; empty: there is no file.
std::string StampOf(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return {};
  return fmt::format("{} {} {} {}.{}", found.st_dev, found.st_ino, found.st_size,
                     found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
}

// What the last write left in the file. Only changed jobs are written, because a scheduler waits
// for each of them.
struct Written {
  std::vector<Allocation> jobs;  // in the order of ids
  std::string stamp;             // of the file; empty: unknown
};

// The file is opened for each write, because it may have been removed or replaced.
Status Write(const std::string& path, const std::vector<Allocation>& jobs, const Notify& notify,
             Written& last) {
  const Result<std::string> own = OwnFile(path, kJobFileKind.key);
  if (!own) return tl::unexpected(own.error());
  if (*own != path) {
    return MakeError(
        ErrorCode::kUnavailable,
        fmt::format("{}: the path is now a symbolic link; the file was not changed", path));
  }
  auto database = OpenOwnDatabase(kJobFileKind, path, WallClock(), notify, Opening::kAgain);
  if (!database) return tl::unexpected(database.error());
  // Nothing is known about a file that another process has written.
  const bool is_known = !last.stamp.empty() && last.stamp == StampOf(path);
  const std::vector<Allocation> before =
      is_known ? std::move(last.jobs) : std::vector<Allocation>();
  last = {};
  const auto written = Caught(*database, [&] { WriteJobs(*database, before, jobs); });
  if (!written) return tl::unexpected(written.error());
  last = {.jobs = jobs, .stamp = StampOf(path)};
  return {};
}

}  // namespace

const DatabaseKind& JobKind() { return kJobFileKind; }

// The state of the thread that writes.
class JobFile::Writer {
 public:
  Writer(std::string path, Notify notify, FileLock lock)
      : path_(std::move(path)), notify_(std::move(notify)), lock_(std::move(lock)) {}

  // Returns false if the thread does not end within `most`.
  bool End(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, most, [&] { return ended_; });
  }
  void ReportHang(std::chrono::milliseconds most) const {
    notify_(Severity::kError,
            fmt::format("{}: writing takes more than {:.0f} s: ending without it; the last changes "
                        "of jobs may be lost; check the disk",
                        path_, std::chrono::duration<double>(most).count()));
  }

  uint64_t Save(std::vector<Allocation> jobs);
  bool WaitFor(uint64_t version, std::chrono::milliseconds most);
  bool Flush(std::chrono::milliseconds most);
  std::string problem() const;

  void Run();

 private:
  const std::string path_;
  const Notify notify_;
  const FileLock lock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::vector<Allocation>> next_;
  uint64_t saved_ = 0;    // newest saved version
  uint64_t written_ = 0;  // newest version on disk
  bool writing_ = false;
  Clock::time_point writing_since_;
  bool ending_ = false;
  bool ended_ = false;
  std::string problem_;
};

Result<std::unique_ptr<JobFile>> JobFile::Open(const std::string& given, const Notify& notify,
                                               std::chrono::milliseconds longest_end) {
  const Result<std::string> own = OwnFile(given, kJobFileKind.key);
  if (!own) return tl::unexpected(own.error());
  Result<FileLock> lock = FileLock::Take(*own, kJobFileKind.key);
  if (!lock) return tl::unexpected(lock.error());
  std::vector<Allocation> found;
  std::vector<std::string> losses;
  const Notify keep = [&](Severity severity, const std::string& text) {
    constexpr size_t kMaxLosses = 5;  // the log has all of them
    if (severity == Severity::kError && losses.size() < kMaxLosses) losses.push_back(text);
    notify(severity, text);
  };
  // A new file is created by the first write, so that a full disk does not prevent the start.
  std::error_code error;
  if (std::filesystem::exists(*own, error)) {
    auto database = OpenOwnDatabase(kJobFileKind, *own, WallClock(), keep);
    if (!database) return tl::unexpected(database.error());
    auto jobs = Caught(*database, [&] { return ReadJobs(*database, keep); });
    if (!jobs) return tl::unexpected(jobs.error());
    found = *std::move(jobs);
  }
  auto writer = std::make_shared<Writer>(*own, notify, *std::move(lock));
  return std::unique_ptr<JobFile>(
      new JobFile(std::move(writer), longest_end, std::move(found), std::move(losses)));
}

JobFile::JobFile(std::shared_ptr<Writer> writer, std::chrono::milliseconds longest_end,
                 std::vector<Allocation> found, std::vector<std::string> losses)
    : writer_(std::move(writer)),
      longest_end_(longest_end),
      found_(std::move(found)),
      losses_(std::move(losses)),
      thread_([writer = writer_] {
        NameThread("jobs");
        writer->Run();
      }) {}

JobFile::~JobFile() {
  if (writer_->End(longest_end_)) {
    thread_.join();
  } else {
    writer_->ReportHang(longest_end_);
    thread_.detach();
  }
}

uint64_t JobFile::Save(std::vector<Allocation> jobs) { return writer_->Save(std::move(jobs)); }

bool JobFile::WaitFor(uint64_t version, std::chrono::milliseconds most) {
  return writer_->WaitFor(version, most);
}

bool JobFile::Flush(std::chrono::milliseconds most) { return writer_->Flush(most); }

std::string JobFile::problem() const { return writer_->problem(); }

uint64_t JobFile::Writer::Save(std::vector<Allocation> jobs) {
  uint64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(jobs);
    version = ++saved_;
  }
  changed_.notify_all();
  return version;
}

bool JobFile::Writer::WaitFor(uint64_t version, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return written_ >= version || !problem_.empty(); });
  return written_ >= version;
}

bool JobFile::Writer::Flush(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return !next_ && !writing_; }) && problem_.empty();
}

std::string JobFile::Writer::problem() const {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty() || !writing_ || Clock::now() - writing_since_ < kLate) return problem_;
  return fmt::format("{}: writing takes more than a second; check the disk", path_);
}

void JobFile::Writer::Run() {
  Written last;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return next_ || ending_; });
    std::optional<std::vector<Allocation>> taken = std::exchange(next_, std::nullopt);
    if (!taken) break;
    const uint64_t version = saved_;
    const Clock::time_point begin = Clock::now();
    writing_ = true;
    writing_since_ = begin;
    lock.unlock();
    const Status status = Write(path_, *taken, notify_, last);
    lock.lock();
    writing_ = false;
    problem_ = status ? "" : status.error().message;
    if (problem_.empty()) written_ = version;
    if (!problem_.empty() && !next_ && !ending_) next_ = std::move(taken);
    changed_.notify_all();
    // Changes that arrive during the pause share one write. Many jobs take long to write; the pause
    // limits writing to half of the time.
    const Clock::duration pause =
        problem_.empty() ? std::min<Clock::duration>(Clock::now() - begin, kLongestPause)
                         : kRetryWrite;
    changed_.wait_for(lock, pause, [&] { return ending_; });
  }
  ended_ = true;
  changed_.notify_all();
}

}  // namespace rocescope
