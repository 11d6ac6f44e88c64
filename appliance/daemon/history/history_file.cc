// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/history_file.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <compare>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "appliance/daemon/history/database_copy.h"
#include "appliance/daemon/history/file_lock.h"
#include "base/utf8.h"

namespace rocescope {
namespace {

// link_minutes is ordered by time, so that the rows of a minute are written, and the oldest rows
// deleted, in one place of the file. After the hour they become blocks (link_block.h). Jobs are
// few, so job_minutes is ordered by job. Tables of version 1.
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

constexpr std::array kMigrations = {
    "CREATE TABLE answers (id INTEGER PRIMARY KEY, part INTEGER NOT NULL, name TEXT NOT NULL, "
    "at_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, content INTEGER NOT NULL, "
    "message BLOB NOT NULL, UNIQUE (part, name, at_ns)); "
    "CREATE INDEX answers_by_time ON answers (last_ns, id); "
    "CREATE TABLE link_blocks (hour INTEGER NOT NULL, block INTEGER NOT NULL, "
    "message BLOB NOT NULL, PRIMARY KEY (hour, block));"};
static_assert(kMigrations.size() + 1 == kHistorySchema);

constexpr std::array kProbes = {
    "SELECT min(at_ns) + max(at_ns) FROM events",
    "SELECT max(length(message)) FROM (SELECT message FROM events ORDER BY id DESC LIMIT 10)",
    "SELECT max(event) FROM event_jobs",
    "SELECT max(id) FROM ports",
    "SELECT min(minute) FROM link_minutes",
    "SELECT max(minute) FROM link_minutes",
    "SELECT max(id) FROM jobs",
    "SELECT max(job) FROM job_minutes",
    "SELECT max(minute) FROM job_minutes",
    "SELECT max(last_ns) FROM answers",
    "SELECT max(hour) FROM link_blocks"};

constexpr auto kLongestProbes = std::chrono::seconds(2);

constexpr std::array kTableNames = {"events", "event_jobs",  "ports",   "link_minutes",
                                    "jobs",   "job_minutes", "answers", "link_blocks"};

constexpr DatabaseKind kHistoryKind = {
    .name = "history",
    .key = "history.file",
    .application = 0x526f4345,  // "RoCE"
    .schema = kHistorySchema,
    .tables = kTables,
    .main_table = "events",
    .pragmas =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
        "PRAGMA journal_size_limit = 4194304",
    .is_header_first = true,
    .probes = kProbes,
    .migrations = kMigrations,
    .later_tables = kCreateTrustedTime};

// A table, index, view or trigger.
struct SchemaObject {
  std::string name;
  std::string definition;
  friend auto operator<=>(const SchemaObject&, const SchemaObject&) = default;
};

// Returns the statements that change a file of `schema` to the current one.
std::string MigrationOf(const DatabaseKind& kind, int schema) {
  std::string statements;
  for (auto i = static_cast<size_t>(schema - 1); i < kind.migrations.size(); ++i) {
    statements += kind.migrations[i];
  }
  return fmt::format("{} PRAGMA user_version = {}; ", statements, kind.schema);
}

// Changes a file of an earlier version in one transaction.
void Migrate(SQLite::Database& database, const DatabaseKind& kind, int schema) {
  if (schema >= kind.schema || schema < 1) return;
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec(MigrationOf(kind, schema));
  transaction.commit();
}

std::vector<SchemaObject> ObjectsOf(SQLite::Database& database) {
  std::vector<SchemaObject> objects;
  SQLite::Statement row(database,
                        "SELECT name, type || ' ' || tbl_name || ': ' || ifnull(sql, '') "
                        "FROM sqlite_schema ORDER BY name");
  while (row.executeStep()) {
    objects.push_back({.name = row.getColumn(0), .definition = row.getColumn(1)});
  }
  return objects;
}

// Returns the name of an object that rocescope does not create, or creates differently; nullopt:
// there is none. A generated column, CHECK or index of an expression could take any time.
std::optional<std::string> AlteredObject(SQLite::Database& database, const DatabaseKind& kind) {
  SQLite::Database expected(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  // ANALYZE creates the tables that the command of the same name adds to a file.
  expected.exec(
      fmt::format("{} {} {}; ANALYZE", kind.tables, MigrationOf(kind, 1), kind.later_tables));
  const std::vector<SchemaObject> known = ObjectsOf(expected);
  for (const SchemaObject& object : ObjectsOf(database)) {
    if (!std::ranges::binary_search(known, object)) return object.name;
  }
  return std::nullopt;
}

// Finds lost pages. On a slow disk, the probes cover only a part of the file.
void Probe(SQLite::Database& database, const DatabaseKind& kind) {
  const auto end = std::chrono::steady_clock::now() + kLongestProbes;
  LimitTo(database, end);
  try {
    for (const char* probe : kind.probes) database.execAndGet(probe);
  } catch (const SQLite::Exception& exception) {
    RemoveLimit(database);
    if (exception.getErrorCode() != SQLITE_INTERRUPT) throw;
  }
  RemoveLimit(database);
}

// A file that is ours is changed to the current schema.
FoundContent ContentOf(SQLite::Database& database, const DatabaseKind& kind,
                       const std::string& path, const Notify& notify) {
  FoundContent found = ExamineContent(database, kind);
  if (found.content != Content::kOurs) return found;
  if (found.schema >= 1 && found.schema < kind.schema) {
    CopyBeforeMigration(database, kind, path, found.schema, notify);
  }
  Migrate(database, kind, found.schema);
  Probe(database, kind);
  return found;
}

// With `keeps`, closing the connection leaves a log that another process did not write to the file.
// A file that is refused must stay as it is.
void KeepLog(SQLite::Database& database, bool keeps) {
  sqlite3_db_config(database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0, nullptr);
}

bool HasLog(const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path + "-wal", error);
  return !error && bytes > 0;
}

bool IsRefused(Content content) {
  return content != Content::kNothing && content != Content::kOurs;
}

// SQLite creates its side files with the permissions of the file.
void CreatePrivateFile(const std::string& path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kPrivateMode);
  if (descriptor >= 0) close(descriptor);  // otherwise SQLite reports the error, if there is one
}

// An earlier version created the files with other permissions. Uses the paths, because closing a
// descriptor would release the locks of SQLite.
void MakePrivate(const std::string& path, Opening opening, const Notify& notify) {
  const auto restrict = [](const std::string& part) {
    struct stat found{};
    if (lstat(part.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return true;
    if ((found.st_mode & 0777) == kPrivateMode) return true;
    return chmod(part.c_str(), kPrivateMode) == 0;
  };
  bool done = restrict(path);
  const int error = errno;
  for (const char* side : kSideFiles) done = restrict(path + side) && done;
  if (done || opening == Opening::kAgain) return;
  notify(Severity::kWarning,
         fmt::format("{}: cannot set the mode 0600: {}; other users may read the file", path,
                     std::generic_category().message(error)));
}

// The order matters: the first two pragmas must precede any write.
void Prepare(SQLite::Database& database, const DatabaseKind& kind, bool is_new) {
  if (is_new) database.exec("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL");
  database.exec(kind.pragmas);
  if (!is_new) return;
  // In one transaction: if the process is killed meanwhile, the file stays empty and counts as new.
  // The checkpoint writes the application id to the file itself, not only to its log.
  database.exec(
      fmt::format("BEGIN IMMEDIATE; {} {} PRAGMA application_id = {}; "
                  "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)",
                  kind.tables, MigrationOf(kind, 1), kind.application));
}

}  // namespace

const DatabaseKind& HistoryKind() { return kHistoryKind; }

Mark MarkOf(const std::string& path, int32_t ours) {
  constexpr std::string_view kMagic("SQLite format 3", 16);  // with its terminating NUL
  constexpr size_t kApplicationAt = 68;
  constexpr size_t kHeader = 100;
  std::error_code error;
  // OwnFile has refused other types already; opening a pipe would block.
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
  return application == static_cast<uint32_t>(ours) ? Mark::kOurs : Mark::kOthers;
}

FoundContent ExamineContent(SQLite::Database& database, const DatabaseKind& kind) {
  const int tables = database.execAndGet("SELECT count(*) FROM sqlite_schema");
  const int application = database.execAndGet("PRAGMA application_id");
  if (tables == 0 && application == 0) {
    // In a file without any table so far, as after a disk error in the first transaction, the
    // schema has the version 0.
    const int version = database.execAndGet("PRAGMA schema_version");
    return {.content =
                version == 0 || kind.is_header_first ? Content::kNothing : Content::kNoTables};
  }
  if (application != kind.application) return {.content = Content::kForeign};
  const int schema = database.execAndGet("PRAGMA user_version");
  if (schema > kind.schema) return {.content = Content::kNewer, .schema = schema};
  const int has_table = database.execAndGet(
      fmt::format("SELECT count(*) FROM sqlite_schema WHERE name = '{}'", kind.main_table));
  if (has_table == 0) return {.content = Content::kIncomplete, .schema = schema};
  if (auto object = AlteredObject(database, kind)) {
    return {.content = Content::kAltered, .schema = schema, .altered = *std::move(object)};
  }
  return {.content = Content::kOurs, .schema = schema};
}

std::string UtcStamp(Timestamp t) {
  const std::time_t seconds = static_cast<std::time_t>(ToNanoseconds(t) / 1'000'000'000);
  return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(seconds));
}

Result<std::string> MoveAside(const std::string& path, Timestamp now) {
  namespace fs = std::filesystem;
  const std::string wanted = fmt::format("{}.broken-{}", path, UtcStamp(now));
  std::string aside = wanted;
  // Errors must not become exceptions, because this runs on separate threads.
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: no longer a regular file; the path was not changed", path));
  }
  for (int i = 2; fs::exists(aside, error) && !error; ++i) {
    aside = fmt::format("{}-{}", wanted, i);
  }
  // Move the log first: it is useless without the file, and SQLite would apply it to a new file of
  // the same name.
  for (const char* log : {"-wal", "-journal"}) {
    const bool has_log = !error && fs::exists(path + log, error);
    if (!error && has_log) fs::rename(path + log, aside + log, error);
  }
  if (!error) fs::rename(path, aside, error);
  if (error) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be moved to {}: {}", path, aside, error.message()));
  }
  fs::remove(path + "-shm", error);
  return aside;
}

Result<SQLite::Database> OpenOwnDatabase(const DatabaseKind& kind, const std::string& path,
                                         Timestamp now, const Notify& notify, Opening opening) {
  const auto not_ours = [&](std::string_view what) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: {}, not a {} file of rocescope; the file was not changed; "
                                 "use another file (key `{}`)",
                                 path, what, kind.name, kind.key));
  };
  const auto failed = [&](Error error) {
    if (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kPermissionDenied) {
      error.message +=
          fmt::format("; check that the folder exists and is writable (key `{}`)", kind.key);
    }
    return tl::unexpected(std::move(error));
  };
  constexpr std::string_view kOtherProgram = "a database of another program";
  for (int attempt = 0;; ++attempt) {
    const Mark mark = MarkOf(path, kind.application);
    if (mark == Mark::kNoDatabase) return not_ours("not an SQLite database");
    if (mark == Mark::kOthers) return not_ours(kOtherProgram);
    CreatePrivateFile(path);
    auto database = OpenDatabase(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    if (!database) return failed(database.error());
    KeepLog(*database, HasLog(path));
    FoundContent found;
    auto content = Caught(*database, [&] {
      found = ContentOf(*database, kind, path, notify);
      if (!IsRefused(found.content)) {
        MakePrivate(path, opening, notify);
        Prepare(*database, kind, found.content == Content::kNothing);
      }
      return found.content;
    });
    if (!content || !IsRefused(*content)) KeepLog(*database, false);
    if (content == Content::kOurs && opening == Opening::kFirst && kind.longest_check.count() > 0) {
      const auto checked = QuickCheck(*database, kind.longest_check);
      if (!checked && checked.error().fault == DatabaseFault::kDamaged) {
        content = tl::unexpected(checked.error());
      }
    }
    // Without the application id, a damaged file may belong to another program.
    if (content == Content::kForeign) return not_ours(kOtherProgram);
    if (content == Content::kNoTables) return not_ours("an SQLite database without tables");
    if (content == Content::kIncomplete) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: the table {} is missing; the file was not changed; restore "
                                   "the file, or use another one (key `{}`)",
                                   path, kind.main_table, kind.key));
    }
    if (content == Content::kAltered) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: \"{}\" in the schema was not created by rocescope, or was changed; the "
                      "file was not changed; drop it, restore the file, or use another one "
                      "(key `{}`)",
                      path, ReplaceInvalidUtf8(found.altered), kind.key));
    }
    if (content == Content::kNewer) {
      return MakeError(
          ErrorCode::kUnimplemented,
          fmt::format("{}: schema {} of a newer rocescope (this one supports up to {}); the file "
                      "was not changed; update rocescope, restore a backup with `rocescope history "
                      "restore`, or use another file (key `{}`)",
                      path, found.schema, kind.schema, kind.key));
    }
    if (content) return *std::move(database);
    const DatabaseFault fault = content.error().fault;
    if (fault != DatabaseFault::kDamaged && fault != DatabaseFault::kTooLarge) {
      return failed(content.error());
    }
    if (mark != Mark::kOurs) return not_ours("a damaged database");
    const std::string& why = content.error().message;
    if (attempt > 0) {
      return MakeError(ErrorCode::kUnavailable,
                       fmt::format("{}, although the file was just created", why));
    }
    database = tl::unexpected(content.error());  // closes it before it is moved
    const Result<std::string> aside = MoveAside(path, now);
    if (!aside) return tl::unexpected(aside.error());
    notify(Severity::kError, fmt::format("{}; moved the file to {}, and started a new {} file", why,
                                         *aside, kind.name));
  }
}

Result<SQLite::Database> OpenHistory(const std::string& path, Timestamp now, const Notify& notify) {
  return OpenOwnDatabase(kHistoryKind, path, now, notify);
}

std::string MissingTable(SQLite::Database& database) {
  for (const char* table : kTableNames) {
    if (!database.tableExists(table)) return table;
  }
  return "";
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
