// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/job_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "appliance/common/files/text_file.h"
#include "appliance/daemon/history/history_file.h"
#include "appliance/daemon/service/job_file_text.h"
#include "base/thread_name.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLongestPause = std::chrono::milliseconds(100);
constexpr auto kLate = std::chrono::seconds(1);
constexpr auto kRetry = std::chrono::seconds(1);
constexpr std::string_view kKey = "jobs.file";
constexpr uintmax_t kLargest = uintmax_t{1} << 30;  // larger than any job file

std::string Why(const std::string& path) {
  return fmt::format("{}: {}", path, std::generic_category().message(errno));
}

bool IsRegular(int file) {
  struct stat found{};
  return fstat(file, &found) == 0 && S_ISREG(found.st_mode);
}

// Makes the rename durable. If a folder cannot be opened or synced, as on some network file
// systems, the rename alone has to suffice.
void SyncFolderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const int opened =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  (void)fsync(opened);
  close(opened);
}

// Returns "" or the error. The text is synced to disk before it replaces the previous file.
std::string WriteWhole(const std::string& path, std::string_view text) {
  const std::string other = path + ".new";
  const int file = open(other.c_str(),
                        O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (file < 0) return Why(other);
  if (!IsRegular(file)) {
    close(file);
    return fmt::format("{}: not a regular file; the file was not changed", other);
  }
  if (ftruncate(file, 0) != 0) {
    std::string why = Why(other);
    close(file);
    return why;
  }
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    text.remove_prefix(static_cast<size_t>(wrote));
  }
  const bool well = text.empty() && fsync(file) == 0;
  std::string why = well ? "" : Why(other);
  close(file);
  if (!well) return why;
  if (const auto own = OwnFile(path, kKey); !own || *own != path) {
    return own ? fmt::format("{}: the path is now a symbolic link; the file was not changed", path)
               : own.error().message;
  }
  if (std::rename(other.c_str(), path.c_str()) != 0) return Why(path);
  SyncFolderOf(path);
  return "";
}

}  // namespace

Result<std::unique_ptr<JobFile>> JobFile::Open(const std::string& given, const Notify& notify) {
  const Result<std::string> own = OwnFile(given, kKey);
  if (!own) return tl::unexpected(own.error());
  const std::string& path = *own;
  Result<FileLock> lock = FileLock::Take(path, kKey);
  if (!lock) return tl::unexpected(lock.error());
  std::vector<Allocation> found;
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (error) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: {} (key `jobs.file`)", path, error.message()));
  }
  if (is_there) {
    const Result<std::string> text = ReadTextFile(path, kLargest);
    if (!text) return tl::unexpected(text.error());
    if (!text->empty() && !IsJobFile(*text)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: not a rocescope job file; the file was not changed; use "
                                   "another file (key `jobs.file`)",
                                   path));
    }
    Result<std::vector<Allocation>> jobs =
        text->empty() ? Result<std::vector<Allocation>>() : ParseJobFile(*text);
    if (jobs) {
      found = *std::move(jobs);
    } else if (jobs.error().code == ErrorCode::kUnimplemented) {
      return MakeError(jobs.error().code,
                       fmt::format("{}: {} (key `jobs.file`)", path, jobs.error().message));
    } else {
      const Result<std::string> aside = MoveAside(path, WallClock());
      if (!aside) return tl::unexpected(aside.error());
      notify(Severity::kError, fmt::format("{}: {}; moved the file to {}; no jobs are registered",
                                           path, jobs.error().message, *aside));
    }
  }
  return std::unique_ptr<JobFile>(new JobFile(path, *std::move(lock), std::move(found)));
}

JobFile::JobFile(std::string path, FileLock lock, std::vector<Allocation> found)
    : path_(std::move(path)), lock_(std::move(lock)), found_(std::move(found)) {
  thread_ = std::thread([this] {
    NameThread("jobs");
    Run();
  });
}

JobFile::~JobFile() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t JobFile::Save(std::vector<Allocation> jobs) {
  uint64_t version = 0;
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(jobs);
    version = ++saved_;
  }
  changed_.notify_all();
  return version;
}

bool JobFile::WaitFor(uint64_t version, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return written_ >= version || !problem_.empty(); });
  return written_ >= version;
}

bool JobFile::Flush(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return !next_ && !writing_; }) && problem_.empty();
}

std::string JobFile::problem() const {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty() || !writing_ || Clock::now() - writing_since_ < kLate) return problem_;
  return fmt::format("{}: writing takes more than a second; check the disk", path_);
}

void JobFile::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return next_ || ending_; });
    std::optional<std::vector<Allocation>> taken = std::exchange(next_, std::nullopt);
    if (!taken) return;
    const uint64_t version = saved_;
    const Clock::time_point begin = Clock::now();
    writing_ = true;
    writing_since_ = begin;
    lock.unlock();
    std::string problem = WriteWhole(path_, WriteJobFile(*taken));
    lock.lock();
    writing_ = false;
    problem_ = std::move(problem);
    if (problem_.empty()) written_ = version;
    if (!problem_.empty() && !next_ && !ending_) next_ = std::move(taken);
    changed_.notify_all();
    // Changes that arrive during the pause share one write. Many jobs take long to write; the pause
    // limits writing to half of the time.
    const Clock::duration pause =
        problem_.empty() ? std::min<Clock::duration>(Clock::now() - begin, kLongestPause) : kRetry;
    changed_.wait_for(lock, pause, [&] { return ending_; });
  }
}

}  // namespace rocescope
