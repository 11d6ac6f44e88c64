// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/history_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <thread>
#include <utility>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/file_lock.h"
#include "appliance/daemon/history/history_file.h"
#include "appliance/daemon/history/link_table.h"
#include "appliance/daemon/history/row_writer.h"
#include "base/thread_name.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRowsATransaction = 1000;
constexpr auto kIdle = std::chrono::seconds(1);
constexpr auto kRetainEvery = std::chrono::minutes(2);
constexpr auto kEndWithin = std::chrono::seconds(5);
constexpr int kStepsForRoom = 20;
// Time between two steps of compaction, so that they take at most a part of a core.
constexpr auto kCompactEvery = std::chrono::milliseconds(20);
constexpr auto kLookEvery = std::chrono::seconds(2);
constexpr auto kLongestCheck = std::chrono::seconds(5);

// Time since the machine started, including suspension. It does not depend on the system clock.
Duration SinceBoot() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Identity of the file at a path; all 0: there is none.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Returns nullopt if the file cannot be examined.
std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? std::optional(FileIdentity{}) : std::nullopt;
  }
  return FileIdentity{.device = found.st_dev, .number = found.st_ino};
}

}  // namespace

// The writer thread, and the state that it shares with others.
class HistoryStore::Writer : public std::enable_shared_from_this<HistoryStore::Writer> {
 public:
  Writer(HistoryOptions options, Notify notify, FileLock lock)
      : options_(std::move(options)),
        notify_(std::move(notify)),
        lock_(std::move(lock)),
        retainer_(options_.file, options_.retention, notify_),
        queue_(options_.queue) {}

  Status Begin() {
    if (const Status opened = OpenFile(); !opened) return opened;
    thread_ = std::thread([self = shared_from_this()] {
      NameThread("history");
      self->Run();
      {
        const std::lock_guard lock(self->mutex_);
        self->has_ended_ = true;
      }
      self->settled_.notify_all();
    });
    return {};
  }

  // Must be called if the thread was started. A thread that hangs, as in a call to a disk that does
  // not answer, is abandoned and keeps this object.
  void End() {
    end_by_ = Clock::now() + kEndWithin;
    queue_.Close();
    std::unique_lock lock(mutex_);
    const bool has_ended =
        settled_.wait_for(lock, options_.longest_end, [&] { return has_ended_; });
    lock.unlock();
    if (has_ended) {
      thread_.join();
      return;
    }
    thread_.detach();
    notify_(
        Severity::kError,
        fmt::format("{}: writing takes more than {:.0f} s: ending without it; the last rows "
                    "may be lost; check the disk",
                    options_.file, std::chrono::duration<double>(options_.longest_end).count()));
  }

  void Add(HistoryRow row) {
    ++added_;
    if (queue_.Add(std::move(row))) return;
    ++dropped_;
    Settle();
  }

  void SetLate(uint64_t late) { late_ = late; }

  bool Flush(std::chrono::milliseconds most) {
    const uint64_t target = added_;
    queue_.Hurry();
    std::unique_lock lock(mutex_);
    return settled_.wait_for(lock, most, [&] { return written_ + dropped_ >= target; });
  }

  HistoryCounts counts() const {
    HistoryCounts counts = {.written = written_,
                            .dropped = dropped_,
                            .errors = errors_,
                            .late = late_,
                            .file_bytes = HistoryBytes(options_.file)};
    counts.added = added_;  // read last, so that it is at least the sum of the others
    const std::lock_guard lock(mutex_);
    counts.problem = problem_;
    counts.retention = retention_;
    return counts;
  }

  const std::string& file() const { return options_.file; }

  // Adds the start of the retention time, unless the clock is not trusted.
  SeriesQuery WithKept(SeriesQuery query) const {
    const std::lock_guard lock(mutex_);
    if (!retention_.is_suspended) {
      query.kept_from = WithinBounds(retention_.expected - options_.retention.keep_series);
    }
    return query;
  }

  void ReportDamage(const std::string& what) const {
    ++errors_;
    if (has_damage_.exchange(true)) return;
    notify_(Severity::kError, fmt::format("{}: {}; further values that cannot be read are counted "
                                          "(rocescope_history_errors_total)",
                                          options_.file, what));
  }

  // Runs a query on a connection of its own.
  template <typename Answer, typename Query>
  Result<Answer> Read(Answer (*find)(SQLite::Database&, const Query&), const Query& query) const {
    const std::shared_lock lock(file_);
    const Clock::time_point end = Clock::now() + options_.longest_question;
    auto database = OpenDatabase(options_.file, SQLite::OPEN_READONLY);
    if (!database) return tl::unexpected(database.error());
    LimitTo(*database, end);
    auto answer = Caught(*database, [&] { return find(*database, query); });
    if (answer) return *std::move(answer);
    if (answer.error().fault != DatabaseFault::kInterrupted) return tl::unexpected(answer.error());
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("the history query was cancelled after {:.1f} s",
                                 std::chrono::duration<double>(options_.longest_question).count()));
  }

 private:
  void Run() {
    Clock::time_point retain_at = Clock::now();
    Clock::time_point look_at = retain_at + kLookEvery;
    while (true) {
      const bool is_last = queue_.is_closed();
      if (!is_last && database_ && !is_checked_) Check();
      const auto now = Clock::now();
      const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::clamp<Clock::duration>(retain_at - now, Clock::duration::zero(),
                                      compacts_ ? Clock::duration(kCompactEvery) : kIdle));
      const auto batch = queue_.Take(kRowsATransaction, idle, options_.pace);
      if (!batch.empty()) Write(batch, is_last && now > *end_by_);
      if (is_last) {
        if (batch.empty()) break;
        continue;
      }
      if (compacts_ && batch.size() < kRowsATransaction) Compact();
      if (Clock::now() >= look_at) {
        if (!IsOurs()) {
          BeginAgain();
        } else {
          CheckTables();
        }
        look_at = Clock::now() + kLookEvery;
      }
      if (Clock::now() < retain_at) continue;
      // If there is more to delete, continue after the next batch.
      retain_at = Retain() ? Clock::now() : Clock::now() + kRetainEvery;
    }
  }

  Status OpenFile() {
    auto database = OpenHistory(options_.file, options_.wall_clock(), notify_);
    if (!database) return tl::unexpected(database.error());
    database_ = *std::move(database);
    const auto prepared = Caught(*database_, [&] {
      BoundFile(*database_, options_.retention);
      rows_.emplace(*database_);
      compactor_.emplace(*database_);
      retainer_.Begin(*database_, options_.wall_clock(), SinceBoot());
      schema_version_ = SchemaVersion();
    });
    if (!prepared) return tl::unexpected(prepared.error());
    is_checked_ = false;
    Publish();
    for (size_t i = 0; i < kParts.size(); ++i) parts_[i] = IdentityOf(options_.file + kParts[i]);
    return {};
  }

  void CloseFile() {
    rows_.reset();  // these refer to the database
    compactor_.reset();
    database_.reset();
  }

  // Returns whether the open file is still the one at the path. After a removal or replacement, all
  // further rows would be written to an unlinked file.
  bool IsOurs() const {
    if (is_gone_) return false;
    const auto now = IdentityOf(options_.file);
    return !database_ || !now || now == parts_.front();
  }

  // Opens a new file after the previous one was removed or replaced. Called repeatedly until that
  // succeeds.
  void BeginAgain() {
    const std::unique_lock lock(
        file_);  // the exclusive lock ensures that no reader has a connection
    const bool is_first = !std::exchange(is_gone_, true);
    CloseFile();
    // SQLite would take the side files of the previous file for those of the new one.
    for (size_t i = 1; is_first && i < kParts.size(); ++i) {
      const std::string part = options_.file + kParts[i];
      if (parts_[i] && IdentityOf(part) == parts_[i]) unlink(part.c_str());
    }
    if (is_first) {
      ++errors_;
      const std::string what = options_.file + ": the file was removed or replaced";
      SetProblem(what);
      notify_(Severity::kWarning, fmt::format("{}; starting a new history", what));
    }
    // Symbolic links have been resolved already.
    const auto own = OwnFile(options_.file, "history.file");
    const Status opened = own ? OpenFile() : Status(tl::unexpected(own.error()));
    is_gone_ = !opened;
    if (opened) return;
    CloseFile();
    SetProblem(opened.error().message);
  }

  void Write(std::span<const HistoryRow> batch, bool too_late) {
    DatabaseResult<void> written =
        too_late ? Failure(": writing takes too long during shutdown") : TryWrite(batch);
    const auto is_full = [&] { return !written && written.error().fault == DatabaseFault::kFull; };
    for (int step = 0; step < kStepsForRoom && is_full() && Retain(); ++step) {
      written = TryWrite(batch);
    }
    // The problem comes first: Flush returns as soon as the rows are counted.
    if (written) {
      Well();
    } else {
      Failed(written.error());
    }
    if (written) {
      retainer_.Wrote(wrote_);
      NoteMinute(batch);
    }
    (written ? written_ : dropped_) += batch.size();
    Settle();
  }

  tl::unexpected<DatabaseError> Failure(std::string_view what) const {
    return tl::unexpected(DatabaseError{
        {.code = ErrorCode::kUnavailable, .message = fmt::format("{}{}", options_.file, what)}});
  }

  DatabaseResult<void> TryWrite(std::span<const HistoryRow> batch) {
    if (!database_) {
      return Failure(is_gone_ ? ": the file does not exist" : ": the file is damaged again");
    }
    const auto write = [&] { wrote_ = rows_->Write(batch); };
    auto written = Caught(*database_, write);
    if (written || written.error().fault != DatabaseFault::kDamaged) return written;
    return Restart(written.error()) ? Caught(*database_, write) : written;
  }

  // An hour can have ended with a new minute. The minute follows the clock of the data, also back.
  void NoteMinute(std::span<const HistoryRow> batch) {
    for (const HistoryRow& row : batch) {
      const auto* const link = std::get_if<LinkMinute>(&row);
      if (link == nullptr || link->minute == minute_) continue;
      minute_ = link->minute;
      compacts_ = true;
    }
  }

  // Does one step. After an error, continues with the next minute.
  void Compact() {
    compacts_ = false;
    if (!database_) return;
    const auto step = Caught(*database_, [&] { return compactor_->Compact(minute_); });
    if (!step) {
      ++errors_;
      if (step.error().fault == DatabaseFault::kDamaged) Restart(step.error());
      return;
    }
    if (!*step) return;
    compacts_ = true;
    if (!(*step)->damage.empty()) ReportDamage((*step)->damage);
    RowCounts change{};
    change[kLinkRows] = -(*step)->rows;
    change[kBlockRows] = (*step)->blocks;
    retainer_.Wrote(change);
  }

  // Checks a file after it was opened, and counts its rows. Rows wait in the queue meanwhile.
  void Check() {
    is_checked_ = true;
    const auto checked = QuickCheck(*database_, kLongestCheck);
    if (checked) {
      retainer_.Count(*database_);
      return;
    }
    if (checked.error().fault == DatabaseFault::kInterrupted) {
      notify_(Severity::kInfo,
              fmt::format("{}: the integrity check was stopped after {} s; it covered only a part "
                          "of the file",
                          options_.file, kLongestCheck.count()));
      retainer_.Count(*database_);
    } else if (checked.error().fault == DatabaseFault::kDamaged) {
      if (!Restart(checked.error())) Failed(checked.error());
    } else {
      Failed(checked.error());
    }
  }

  int64_t SchemaVersion() { return database_->execAndGet("PRAGMA schema_version").getInt64(); }

  // Another program may have dropped a table.
  void CheckTables() {
    if (!database_) return;
    const auto missing = Caught(*database_, [&] {
      const int64_t version = SchemaVersion();
      return version == std::exchange(schema_version_, version) ? "" : MissingTable(*database_);
    });
    if (missing && missing->empty()) return;
    DatabaseError error =
        missing ? DatabaseError{{.code = ErrorCode::kUnavailable,
                                 .message = fmt::format("{}: the table {} was dropped",
                                                        options_.file, *missing)},
                                DatabaseFault::kDamaged}
                : missing.error();
    if (error.fault == DatabaseFault::kDamaged && Restart(error)) return;
    Failed(error);
  }

  // Replaces a damaged file, but only once, so that a faulty disk does not fill up with damaged
  // files.
  bool Restart(const Error& damage) {
    const std::unique_lock lock(
        file_);  // the exclusive lock ensures that no reader has a connection
    CloseFile();
    if (std::exchange(has_begun_anew_, true)) return false;
    const Result<std::string> aside = MoveAside(options_.file, options_.wall_clock());
    if (!aside) {
      notify_(Severity::kError,
              fmt::format("{}; no more data is stored until rocescope is restarted",
                          aside.error().message));
      return false;
    }
    notify_(Severity::kError, fmt::format("{}; moved the file to {}, and started a new history",
                                          damage.message, *aside));
    if (OpenFile()) return true;
    CloseFile();
    return false;
  }

  // Returns true if there is more to delete.
  bool Retain() {
    if (!database_) return false;
    const auto more = Caught(
        *database_, [&] { return retainer_.Step(*database_, options_.wall_clock(), SinceBoot()); });
    rows_->ForgetNames();
    Publish();
    if (more) return *more;
    if (more.error().fault == DatabaseFault::kDamaged && Restart(more.error())) return false;
    Failed(more.error());
    return false;
  }

  void Publish() {
    const std::lock_guard lock(mutex_);
    retention_ = retainer_.state();
  }

  // Sets the problem, which the next successful write clears.
  void SetProblem(std::string problem) {
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
  }

  // Records an error; reports only the first one of a series.
  void Failed(const Error& error) {
    ++errors_;
    {
      const std::lock_guard lock(mutex_);
      if (!problem_.empty()) return;
      problem_ = error.message;
    }
    notify_(Severity::kError,
            fmt::format("{}; rows are dropped until the file is writable again", error.message));
  }

  void Well() {
    {
      const std::lock_guard lock(mutex_);
      if (problem_.empty()) return;
      problem_.clear();
    }
    notify_(Severity::kInfo, fmt::format("{} is writable again", options_.file));
  }

  void Settle() {
    // Flush may be between its check of the counters and its wait, with the mutex locked.
    std::unique_lock lock(mutex_);
    lock.unlock();
    settled_.notify_all();
  }

  const HistoryOptions options_;
  const Notify notify_;
  const FileLock lock_;
  mutable std::shared_mutex file_;            // exclusive: while the file is replaced
  std::optional<SQLite::Database> database_;  // none: it was damaged twice
  std::optional<RowWriter> rows_;             // refers to database_
  std::optional<LinkCompactor> compactor_;    // refers to database_
  int64_t minute_ = INT64_MIN;                // of the last written minute of links
  bool compacts_ = false;                     // there may be an hour to compact
  Retainer retainer_;
  RowCounts wrote_{};           // rows of the last transaction
  bool is_checked_ = false;     // Check has run for the open file
  int64_t schema_version_ = 0;  // changes whenever a table is created or dropped
  bool has_begun_anew_ = false;
  static constexpr std::array kParts = {"", "-wal", "-shm"};
  std::array<std::optional<FileIdentity>, kParts.size()> parts_;  // identities of the open files
  bool is_gone_ = false;  // the file was removed or replaced, and no file is open
  RowQueue queue_;
  std::atomic<uint64_t> added_ = 0;
  std::atomic<uint64_t> written_ = 0;
  std::atomic<uint64_t> dropped_ = 0;
  mutable std::atomic<uint64_t> errors_ = 0;
  mutable std::atomic<bool> has_damage_ = false;
  std::atomic<uint64_t> late_ = 0;
  std::optional<Clock::time_point> end_by_;  // set before the queue is closed
  mutable std::mutex mutex_;
  std::condition_variable settled_;  // a row was written or dropped, or the thread has ended
  bool has_ended_ = false;
  std::string problem_;
  RetentionState retention_;
  std::thread thread_;
};

Result<std::unique_ptr<HistoryStore>> HistoryStore::Open(const HistoryOptions& options,
                                                         Notify notify) {
  HistoryOptions own = options;
  auto file = OwnFile(options.file, "history.file");
  if (!file) return tl::unexpected(file.error());
  own.file = *std::move(file);
  auto lock = FileLock::Take(own.file);
  if (!lock) return tl::unexpected(lock.error());
  auto writer = std::make_shared<Writer>(std::move(own), std::move(notify), *std::move(lock));
  if (const Status begun = writer->Begin(); !begun) return tl::unexpected(begun.error());
  return std::unique_ptr<HistoryStore>(new HistoryStore(std::move(writer)));
}

HistoryStore::HistoryStore(std::shared_ptr<Writer> writer) : writer_(std::move(writer)) {}

HistoryStore::~HistoryStore() { writer_->End(); }

void HistoryStore::Add(HistoryRow row) { writer_->Add(std::move(row)); }

void HistoryStore::SetLate(uint64_t late) { writer_->SetLate(late); }

bool HistoryStore::Flush(std::chrono::milliseconds most) { return writer_->Flush(most); }

const std::string& HistoryStore::file() const { return writer_->file(); }

HistoryCounts HistoryStore::counts() const { return writer_->counts(); }

Result<EventPage> HistoryStore::Events(const EventQuery& query) const {
  return writer_->Read(FindEvents, query);
}

Result<Series<LinkPoint>> HistoryStore::LinkSeries(const SeriesQuery& query) const {
  auto series = writer_->Read(FindLinkSeries, writer_->WithKept(query));
  if (series && !series->damage.empty()) ReportDamage(series->damage);
  return series;
}

Result<FoundAnswer> HistoryStore::AnswerAt(const AnswerQuery& query) const {
  auto found = writer_->Read(FindAnswer, query);
  if (found && !found->damage.empty()) ReportDamage("a past answer: " + found->damage);
  return found;
}

Result<MinuteOfLinks> HistoryStore::LinksAt(const MinuteQuery& query) const {
  auto found = writer_->Read(FindLinks, query);
  if (found && !found->damage.empty()) ReportDamage(found->damage);
  return found;
}

void HistoryStore::ReportDamage(const std::string& what) const { writer_->ReportDamage(what); }

Result<Series<JobPoint>> HistoryStore::JobSeries(const SeriesQuery& query) const {
  return writer_->Read(FindJobSeries, writer_->WithKept(query));
}

}  // namespace rocescope
