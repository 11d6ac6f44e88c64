// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/database_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <SQLiteCpp/Backup.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <thread>

#include "appliance/common/files/new_file.h"
#include "appliance/daemon/history/file_lock.h"
#include "base/descriptor.h"

namespace rocescope {
namespace {

using Moment = std::chrono::steady_clock;

constexpr int kPagesPerStep = 256;  // 1 MiB
constexpr auto kLongestStepPause = std::chrono::milliseconds(200);
constexpr auto kRetryStep = std::chrono::milliseconds(10);
// Most files that are copied before a migration are much smaller. The service manager waits 90 s
// for the start.
constexpr auto kLongestCopyBeforeMigration = std::chrono::seconds(30);

Status CopySteps(SQLite::Database& from, SQLite::Database& copy, const std::string& to,
                 const CopyLimits& limits) {
  // Without a write-ahead log, the appliance waits while the file is read: read it at once.
  const bool at_once = limits.paces && from.execAndGet("PRAGMA journal_mode").getString() != "wal";
  const Moment::time_point end =
      limits.longest ? Moment::now() + *limits.longest : Moment::time_point::max();
  SQLite::Backup backup(copy, from);
  while (true) {
    const Moment::time_point begin = Moment::now();
    const int code = backup.executeStep(at_once ? -1 : kPagesPerStep);
    if (code == SQLITE_DONE) return {};
    if (limits.stops && limits.stops()) {
      return MakeError(ErrorCode::kResourceExhausted, fmt::format("{}: stopped by a signal", to));
    }
    const Moment::time_point now = Moment::now();
    if (now >= end) {
      return MakeError(ErrorCode::kResourceExhausted,
                       fmt::format("{}: copying takes more than {:.0f} s", to,
                                   std::chrono::duration<double>(*limits.longest).count()));
    }
    if (code != SQLITE_OK) {
      std::this_thread::sleep_for(kRetryStep);
    } else if (limits.paces) {
      std::this_thread::sleep_for(std::min<Moment::duration>(now - begin, kLongestStepPause));
    }
  }
}

bool SyncFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.number() >= 0 && fsync(file.number()) == 0;
}

// Removes FILE.before-schema-N, except `keep`.
void RemoveEarlierCopies(const std::string& path, const std::string& keep) {
  namespace fs = std::filesystem;
  const fs::path file(path);
  const std::string start = file.filename().string() + ".before-schema-";
  std::error_code error;
  const fs::path parent = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_copy = name.starts_with(start) &&
                         name.find_first_not_of("0123456789", start.size()) == std::string::npos;
    std::error_code ignored;
    if (is_copy && name != fs::path(keep).filename()) fs::remove(at->path(), ignored);
  }
}

Status TryCopyBeforeMigration(SQLite::Database& database, const std::string& path,
                              const std::string& copy) {
  const std::string partial = copy + ".partial";
  unlink(partial.c_str());
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const auto space = std::filesystem::space(parent.empty() ? "." : parent, error);
  const uint64_t needed = SpaceForCopy(HistoryBytes(path));
  if (error || space.available < needed) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("{}: {} bytes of disk space are free, {} are needed", copy,
                                 error ? 0 : space.available, needed));
  }
  {
    const Descriptor created(
        open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kPrivateMode));
    if (created.number() < 0) {
      return MakeError(ErrorCode::kPermissionDenied,
                       fmt::format("{}: {}", partial, std::generic_category().message(errno)));
    }
  }
  Status done = CopyDatabase(database, partial, {.longest = kLongestCopyBeforeMigration});
  if (done && !SyncFile(partial)) {
    done = MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: cannot be written to the disk", partial));
  }
  if (done) {
    std::filesystem::rename(partial, copy, error);
    if (error) {
      done = MakeError(ErrorCode::kPermissionDenied, fmt::format("{}: {}", copy, error.message()));
    }
  }
  if (!done) {
    unlink(partial.c_str());
    return done;
  }
  return SyncDirectoryOf(copy);
}

}  // namespace

Status CopyDatabase(SQLite::Database& from, const std::string& to, const CopyLimits& limits) {
  try {
    Status copied;
    {
      SQLite::Database copy(to, SQLite::OPEN_READWRITE);
      // The read transaction keeps the state of this moment. Without it, each change by the
      // appliance would start the copying again.
      SQLite::Transaction moment(from);
      from.execAndGet("SELECT count(*) FROM sqlite_schema");
      copied = CopySteps(from, copy, to, limits);
    }
    if (!copied) return copied;
    SQLite::Database copy(to, SQLite::OPEN_READWRITE);
    copy.exec("PRAGMA journal_mode = DELETE");
    return {};
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected(ErrorOf(exception, to, nullptr));
  }
}

void CopyBeforeMigration(SQLite::Database& database, const DatabaseKind& kind,
                         const std::string& path, int schema, const Notify& notify) {
  const std::string copy = fmt::format("{}.before-schema-{}", path, kind.schema);
  const Status done = TryCopyBeforeMigration(database, path, copy);
  if (!done) {
    notify(Severity::kWarning,
           fmt::format("{}; changing the tables of {} from schema {} to {} without a copy: earlier "
                       "versions of rocescope refuse the file from now on",
                       done.error().message, path, schema, kind.schema));
    return;
  }
  RemoveEarlierCopies(path, copy);
  notify(Severity::kInfo,
         fmt::format("{}: changing the tables from schema {} to {}; the file for earlier versions "
                     "of rocescope is {}",
                     path, schema, kind.schema, copy));
}

}  // namespace rocescope
