// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/history_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace rocescope {
namespace {

// Minutes stand in the order of time, so that each minute's rows are written, and the oldest
// deleted, in one place of the file; a link's series is then one look-up a minute. Jobs are few:
// theirs is in the order of jobs.
constexpr const char* kTables = R"(
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

// Each reads one end of a table or index, which a file that was cut short has lost.
constexpr std::array kProbes = {
    "SELECT min(at_ns) + max(at_ns) FROM events",
    "SELECT max(length(message)) FROM (SELECT message FROM events ORDER BY id DESC LIMIT 10)",
    "SELECT max(event) FROM event_jobs",
    "SELECT max(id) FROM ports",
    "SELECT min(minute) FROM link_minutes",
    "SELECT max(minute) FROM link_minutes",
    "SELECT max(id) FROM jobs",
    "SELECT max(job) FROM job_minutes",
    "SELECT max(minute) FROM job_minutes"};

// What the file's header says of whose it is (https://www.sqlite.org/fileformat.html, 1.3).
enum class Mark {
  kUnsaid,  // there is no file, or an empty one, or the log beside it may say
  kOurs,
  kOthers,
  kNoDatabase,
};

// Before SQLite has it open, as to close a file ends the process's locks of it.
Mark MarkOf(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3", 16);  // with its NUL
  constexpr size_t kApplicationAt = 68;
  constexpr size_t kHeader = 100;
  std::error_code error;
  // Others are refused before (OwnFile): to open a pipe would wait.
  if (!std::filesystem::is_regular_file(path, error)) return Mark::kUnsaid;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kHeader> header{};
  file.read(header.data(), header.size());
  const auto size = static_cast<size_t>(file.gcount());
  if (size == 0) return Mark::kUnsaid;
  if (size < kHeader || !std::string_view(header.data(), size).starts_with(kMagic)) {
    return Mark::kNoDatabase;
  }
  uint32_t application = 0;  // big-endian
  for (size_t i = 0; i < 4; ++i) {
    application = application << 8 | static_cast<uint8_t>(header[kApplicationAt + i]);
  }
  if (application == 0) return Mark::kUnsaid;
  return application == static_cast<uint32_t>(kHistoryApplication) ? Mark::kOurs : Mark::kOthers;
}

tl::unexpected<Error> NotOurs(const std::string& path, std::string_view what) {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {}, and no history of rocescope: it is left as it is; name "
                               "another file (key `history.file`)",
                               path, what));
}
constexpr std::string_view kOtherProgram = "a database of another program";

enum class Kind { kNew, kHistory, kForeign, kDamaged };

struct Found {
  Kind kind = Kind::kNew;
  std::string why;  // of kDamaged
};

Result<Found> Look(Database& database) {
  const auto failed = [&](const Error& error) -> Result<Found> {
    if (database.fault() == DatabaseFault::kDamaged) {
      return Found{.kind = Kind::kDamaged, .why = error.message};
    }
    return tl::unexpected(error);
  };
  const auto tables = database.Value("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failed(tables.error());
  const auto application = database.Value("PRAGMA application_id");
  if (!application) return failed(application.error());
  if (*tables == 0 && *application == 0) return Found{};
  if (*application != kHistoryApplication) return Found{.kind = Kind::kForeign};
  const auto version = database.Value("PRAGMA user_version");
  if (!version) return failed(version.error());
  if (*version > kHistorySchema) {
    return MakeError(ErrorCode::kUnimplemented,
                     fmt::format("schema {} of a newer rocescope, and this one knows {}: update "
                                 "it, or name another file (key `history.file`)",
                                 *version, kHistorySchema));
  }
  for (const char* probe : kProbes) {
    if (const auto value = database.Value(probe); !value) return failed(value.error());
  }
  return Found{.kind = Kind::kHistory};
}

// The order matters: the first two are only possible before anything is written.
Status Prepare(Database& database, bool is_new) {
  if (is_new) {
    for (const char* sql : {"PRAGMA page_size = 4096", "PRAGMA auto_vacuum = INCREMENTAL"}) {
      if (const auto done = database.Execute(sql); !done) return done;
    }
  }
  for (const char* sql : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
                          "PRAGMA journal_size_limit = 4194304"}) {
    if (const auto done = database.Execute(sql); !done) return done;
  }
  if (!is_new) return {};
  // In one transaction: who is killed meanwhile leaves an empty file, which is a new one.
  const Status made = database.Execute(
      fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; "
                  "COMMIT",
                  kTables, kHistoryApplication, kHistorySchema)
          .c_str());
  if (!made) return made;
  // So that the file itself carries our mark, and not its log alone.
  return database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Error Described(const std::string& path, const Error& error) {
  std::string message =
      error.message.starts_with(path) ? error.message : fmt::format("{}: {}", path, error.message);
  if (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kPermissionDenied) {
    message += "; is its folder there, and may rocescope write in it? (key `history.file`)";
  }
  return {.code = error.code, .message = std::move(message)};
}

std::string UtcStamp(Timestamp t) {
  const std::time_t seconds = static_cast<std::time_t>(ToNanoseconds(t) / 1'000'000'000);
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(seconds));
}

}  // namespace

Result<std::string> MoveAside(const std::string& path, Timestamp now) {
  namespace fs = std::filesystem;
  const std::string wanted = fmt::format("{}.broken-{}", path, UtcStamp(now));
  std::string aside = wanted;
  // What cannot be looked at is a failure, never an exception: this runs on threads of their own.
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: is no regular file any more, and left as it is", path));
  }
  for (int i = 2; fs::exists(aside, error) && !error; ++i) {
    aside = fmt::format("{}-{}", wanted, i);
  }
  // Its log first: without the file it is nothing, and beside a new file it would be taken as its.
  const bool has_log = !error && fs::exists(path + "-wal", error);
  if (!error && has_log) fs::rename(path + "-wal", aside + "-wal", error);
  if (!error) fs::rename(path, aside, error);
  if (error) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be moved to {}: {}", path, aside, error.message()));
  }
  fs::remove(path + "-shm", error);
  return aside;
}

Result<Database> OpenHistory(const std::string& path, Timestamp now, const Tell& tell) {
  for (int attempt = 0;; ++attempt) {
    const Mark mark = MarkOf(path);
    if (mark == Mark::kNoDatabase) return NotOurs(path, "no database");
    if (mark == Mark::kOthers) return NotOurs(path, kOtherProgram);
    auto database = Database::Open(path, Database::Access::kWrite);
    if (!database) return tl::unexpected(Described(path, database.error()));
    const Result<Found> found = Look(*database);
    if (!found) return tl::unexpected(Described(path, found.error()));
    if (found->kind == Kind::kNew || found->kind == Kind::kHistory) {
      const Status prepared = Prepare(*database, found->kind == Kind::kNew);
      if (!prepared) return tl::unexpected(Described(path, prepared.error()));
      return database;
    }
    // Without a mark a damaged one may be anybody's.
    if (found->kind == Kind::kForeign) return NotOurs(path, kOtherProgram);
    if (mark != Mark::kOurs) return NotOurs(path, "a broken database");
    if (attempt > 0) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("{}: {}, even now that it is new", path, found->why));
    }
    *database = Database();  // closed: it is about to be moved
    const Result<std::string> aside = MoveAside(path, now);
    if (!aside) return tl::unexpected(aside.error());
    tell(fmt::format("{}; it is now {}, and history begins anew", found->why, *aside));
  }
}

uint64_t HistoryBytes(const std::string& path) {
  uint64_t bytes = 0;
  for (const char* part : {"", "-wal"}) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(path + part, error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace rocescope
