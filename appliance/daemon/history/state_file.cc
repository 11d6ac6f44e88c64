// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/state_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/file_lock.h"
#include "appliance/daemon/history/history_file.h"
#include "base/thread_name.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongestPause = std::chrono::milliseconds(100);
constexpr auto kLate = std::chrono::seconds(1);
constexpr auto kRetryWrite = std::chrono::seconds(1);

// Identifies a file and its content; empty: there is no file.
std::string StampOf(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return {};
  return fmt::format("{} {} {} {}.{}", found.st_dev, found.st_ino, found.st_size,
                     found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
}

}  // namespace

// The state of the thread that writes.
class StateFile::Writer {
 public:
  Writer(std::string path, const DatabaseKind& kind, Notify notify, FileLock lock)
      : path_(std::move(path)), kind_(kind), notify_(std::move(notify)), lock_(std::move(lock)) {}

  // Returns false if the thread does not end within `most`.
  bool End(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, most, [&] { return ended_; });
  }
  void ReportHang(const Options& options) const {
    notify_(Severity::kError,
            fmt::format("{}: writing takes more than {:.0f} s: ending without it; {} may be lost; "
                        "check the disk",
                        path_, std::chrono::duration<double>(options.longest_end).count(),
                        options.changes));
  }

  uint64_t Save(Write write);
  bool WaitFor(uint64_t version, std::chrono::milliseconds most);
  bool Flush(std::chrono::milliseconds most);
  std::string problem() const;

  void Run();

 private:
  Status Try(const Write& write);

  const std::string path_;
  const DatabaseKind& kind_;
  const Notify notify_;
  const FileLock lock_;
  // Stamp of the file after the last write; empty: unknown. Used by the thread only.
  std::string stamp_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Write> next_;
  uint64_t saved_ = 0;    // newest saved version
  uint64_t written_ = 0;  // newest version on disk
  bool writing_ = false;
  Clock::time_point writing_since_;
  bool ending_ = false;
  bool ended_ = false;
  std::string problem_;
};

Result<std::unique_ptr<StateFile>> StateFile::Open(const std::string& given, const Options& options,
                                                   const Read& read, const Notify& notify) {
  const DatabaseKind& kind = *options.kind;
  const Result<std::string> own = OwnFile(given, kind.key);
  if (!own) return tl::unexpected(own.error());
  Result<FileLock> lock = FileLock::Take(*own, kind.key);
  if (!lock) return tl::unexpected(lock.error());
  std::vector<std::string> losses;
  const Notify keep = [&](Severity severity, const std::string& text) {
    constexpr size_t kMaxLosses = 5;  // the log has all of them
    if (severity == Severity::kError && losses.size() < kMaxLosses) losses.push_back(text);
    notify(severity, text);
  };
  std::error_code error;
  if (std::filesystem::exists(*own, error)) {
    auto database = OpenOwnDatabase(kind, *own, WallClock(), keep);
    if (!database) return tl::unexpected(database.error());
    const auto done = Caught(*database, [&] { read(*database, keep); });
    if (!done) return tl::unexpected(done.error());
  }
  auto writer = std::make_shared<Writer>(*own, kind, notify, *std::move(lock));
  return std::unique_ptr<StateFile>(new StateFile(std::move(writer), options, std::move(losses)));
}

StateFile::StateFile(std::shared_ptr<Writer> writer, const Options& options,
                     std::vector<std::string> losses)
    : writer_(std::move(writer)),
      options_(options),
      losses_(std::move(losses)),
      thread_([writer = writer_, name = options.thread] {
        NameThread(name);
        writer->Run();
      }) {}

StateFile::~StateFile() {
  if (writer_->End(options_.longest_end)) {
    thread_.join();
  } else {
    writer_->ReportHang(options_);
    thread_.detach();
  }
}

uint64_t StateFile::Save(Write write) { return writer_->Save(std::move(write)); }

bool StateFile::WaitFor(uint64_t version, std::chrono::milliseconds most) {
  return writer_->WaitFor(version, most);
}

bool StateFile::Flush(std::chrono::milliseconds most) { return writer_->Flush(most); }

std::string StateFile::problem() const { return writer_->problem(); }

uint64_t StateFile::Writer::Save(Write write) {
  uint64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(write);
    version = ++saved_;
  }
  changed_.notify_all();
  return version;
}

bool StateFile::Writer::WaitFor(uint64_t version, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return written_ >= version || !problem_.empty(); });
  return written_ >= version;
}

bool StateFile::Writer::Flush(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return !next_ && !writing_; }) && problem_.empty();
}

std::string StateFile::Writer::problem() const {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty() || !writing_ || Clock::now() - writing_since_ < kLate) return problem_;
  return fmt::format("{}: writing takes more than a second; check the disk", path_);
}

// The file is opened for each write, because it may have been removed or replaced.
Status StateFile::Writer::Try(const Write& write) {
  const Result<std::string> own = OwnFile(path_, kind_.key);
  if (!own) return tl::unexpected(own.error());
  if (*own != path_) {
    return MakeError(
        ErrorCode::kUnavailable,
        fmt::format("{}: the path is now a symbolic link; the file was not changed", path_));
  }
  auto database = OpenOwnDatabase(kind_, path_, WallClock(), notify_, Opening::kAgain);
  if (!database) return tl::unexpected(database.error());
  // Nothing is known about a file that another process has written.
  const std::string before = std::exchange(stamp_, "");
  const bool is_known = !before.empty() && before == StampOf(path_);
  const auto written = Caught(*database, [&] { write(*database, is_known); });
  if (!written) return tl::unexpected(written.error());
  stamp_ = StampOf(path_);
  return {};
}

void StateFile::Writer::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return next_ || ending_; });
    std::optional<Write> taken = std::exchange(next_, std::nullopt);
    if (!taken) break;
    const uint64_t version = saved_;
    const Clock::time_point begin = Clock::now();
    writing_ = true;
    writing_since_ = begin;
    lock.unlock();
    const Status status = Try(*taken);
    lock.lock();
    writing_ = false;
    problem_ = status ? "" : status.error().message;
    if (problem_.empty()) written_ = version;
    if (!problem_.empty() && !next_ && !ending_) next_ = std::move(taken);
    changed_.notify_all();
    // Changes that arrive during the pause share one write. Much data takes long to write; the
    // pause limits writing to half of the time.
    const Clock::duration pause =
        problem_.empty() ? std::min<Clock::duration>(Clock::now() - begin, kLongestPause)
                         : kRetryWrite;
    changed_.wait_for(lock, pause, [&] { return ending_; });
  }
  ended_ = true;
  changed_.notify_all();
}

}  // namespace rocescope
