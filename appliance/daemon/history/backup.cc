// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/backup.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "appliance/common/files/new_file.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/database_copy.h"
#include "appliance/daemon/history/file_lock.h"
#include "appliance/daemon/history/finding_file.h"
#include "appliance/daemon/history/history_file.h"
#include "appliance/daemon/history/job_file.h"
#include "appliance/daemon/history/rows.h"
#include "base/utf8.h"

namespace rocescope {
namespace {

namespace fs = std::filesystem;

const DatabaseKind& KindOf(DatabaseName name) {
  switch (name) {
    case DatabaseName::kHistory:
      break;
    case DatabaseName::kJobs:
      return JobKind();
    case DatabaseName::kFindings:
      return FindingKind();
  }
  return HistoryKind();
}

tl::unexpected<Error> Refused(const std::string& path, std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("{}: {}", path, why));
}

// Returns the schema of the open file, or why it is not an intact file of this kind.
Result<int> SchemaOf(SQLite::Database& database, const DatabaseKind& kind) {
  const std::string path = database.getFilename();
  const auto found = Caught(database, [&] { return ExamineContent(database, kind); });
  if (!found) return tl::unexpected(found.error());
  switch (found->content) {
    case Content::kOurs:
      break;
    case Content::kNewer:
      return MakeError(ErrorCode::kUnimplemented,
                       fmt::format("{}: schema {} is newer than this version supports (up to {}); "
                                   "use a newer rocescope or an older backup",
                                   path, found->schema, kind.schema));
    case Content::kAltered:
      return Refused(path, fmt::format("\"{}\" in the schema was not created by rocescope, or was "
                                       "changed",
                                       ReplaceInvalidUtf8(found->altered)));
    case Content::kIncomplete:
      return Refused(path, fmt::format("the table {} is missing", kind.main_table));
    case Content::kNothing:
    case Content::kNoTables:
    case Content::kForeign:
      return Refused(path, fmt::format("not a {} file of rocescope", kind.name));
  }
  if (found->schema < 1) return Refused(path, "its schema has no version");
  return found->schema;
}

// Checks schema and structure of a complete copy.
Result<int> CheckCopy(const std::string& path, const DatabaseKind& kind) {
  auto database = OpenDatabase(path, SQLite::OPEN_READONLY);
  if (!database) return tl::unexpected(database.error());
  const Result<int> schema = SchemaOf(*database, kind);
  if (!schema) return schema;
  const auto found = Caught(
      *database, [&] { return database->execAndGet("PRAGMA integrity_check(1)").getString(); });
  if (!found) return tl::unexpected(found.error());
  if (*found != "ok") {
    return Refused(path, fmt::format("the copy is damaged, so the original probably is, too: {}",
                                     ReplaceInvalidUtf8(*found)));
  }
  return schema;
}

// Copies `from` to the empty file `to`, and checks the copy. Errors about the copy name the
// original.
Result<CopiedDatabase> CopyChecked(const std::string& from, const std::string& to,
                                   const DatabaseKind& kind, const CopyLimits& limits) {
  std::error_code error;
  if (!fs::exists(from, error)) {
    return MakeError(
        ErrorCode::kNotFound,
        fmt::format("{}: {}", from, error ? error.message() : "the file does not exist"));
  }
  auto source = OpenDatabase(from, SQLite::OPEN_READONLY);
  if (!source) return tl::unexpected(source.error());
  if (const auto schema = SchemaOf(*source, kind); !schema) return tl::unexpected(schema.error());
  if (const Status copied = CopyDatabase(*source, to, limits); !copied) {
    return tl::unexpected(copied.error());
  }
  const Result<int> schema = CheckCopy(to, kind);
  if (!schema) {
    Error why = schema.error();
    if (why.message.starts_with(to)) why.message.replace(0, to.size(), from);
    return tl::unexpected(std::move(why));
  }
  return CopiedDatabase{.schema = *schema, .bytes = HistoryBytes(to)};
}

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
};

// Owner of the file or, without one, of its directory.
std::optional<Owner> OwnerOf(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) {
    const fs::path parent = fs::path(path).parent_path();
    if (stat(parent.empty() ? "." : parent.c_str(), &found) != 0) return std::nullopt;
  }
  return Owner{.user = found.st_uid, .group = found.st_gid};
}

// Root prepares the files for the user of the appliance.
Status GiveTo(const std::optional<Owner>& owner, const std::string& path) {
  if (geteuid() != 0 || !owner) return {};
  if (lchown(path.c_str(), owner->user, owner->group) == 0) return {};
  return MakeError(
      ErrorCode::kPermissionDenied,
      fmt::format("{}: cannot change the owner: {}", path, std::generic_category().message(errno)));
}

// Writes a log that a killed appliance has left to its file, so that the file is complete without
// it. Not done for a damaged file, which keeps its log.
void WriteBackLog(const std::string& path) {
  auto database = OpenDatabase(path, SQLite::OPEN_READWRITE);
  if (!database) return;
  (void)Caught(*database, [&] { database->execAndGet("PRAGMA wal_checkpoint(TRUNCATE)"); });
}

// Gives the file a second name, FILE.replaced-TIME, which keeps it when another file replaces it.
Result<std::string> KeepReplaced(const std::string& path, Timestamp now) {
  const std::string wanted = fmt::format("{}.replaced-{}", path, UtcStamp(now));
  std::string kept = wanted;
  std::error_code error;
  for (int i = 2; fs::exists(fs::symlink_status(kept, error)); ++i) {
    kept = fmt::format("{}-{}", wanted, i);
  }
  // A link, so that there is always a file at `path`. Some file systems have no links.
  fs::create_hard_link(path, kept, error);
  if (error) fs::rename(path, kept, error);
  for (const char* side : kSideFiles) {
    if (error || !fs::exists(path + side, error)) continue;
    if (std::string_view(side) == "-shm") {
      fs::remove(path + side, error);
    } else {
      fs::rename(path + side, kept + side, error);
    }
  }
  if (error) {
    return MakeError(ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot be kept as {}: {}", path, kept, error.message()));
  }
  return kept;
}

// SQLite would read side files of a file that is gone into the file that takes its place.
Status MoveSideFiles(const std::string& path, Timestamp now) {
  for (const char* side : kSideFiles) {
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path + side, error))) continue;
    const std::string kept = fmt::format("{}.replaced-{}{}", path, UtcStamp(now), side);
    fs::rename(path + side, kept, error);
    if (error) {
      return MakeError(
          ErrorCode::kPermissionDenied,
          fmt::format("{}{}: cannot be moved to {}: {}", path, side, kept, error.message()));
    }
  }
  return {};
}

// Columns with times: name of the table, column, nanoseconds of a unit, units that a row covers.
struct TimeColumn {
  std::string_view table;
  std::string_view column;
  int64_t unit_ns;
  int64_t length;
};
constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr std::array kTimeColumns = {
    TimeColumn{.table = "events", .column = "at_ns", .unit_ns = 1, .length = 0},
    TimeColumn{.table = "link_minutes", .column = "minute", .unit_ns = kMinuteNs, .length = 1},
    TimeColumn{.table = "job_minutes", .column = "minute", .unit_ns = kMinuteNs, .length = 1},
    TimeColumn{.table = "link_blocks", .column = "hour", .unit_ns = 60 * kMinuteNs, .length = 1},
    TimeColumn{.table = "answers", .column = "last_ns", .unit_ns = 1, .length = 0}};

void AddSpan(SQLite::Database& database, const TimeColumn& time, DatabaseInfo& info) {
  const int64_t latest = ToNanoseconds(kLatestTime) / time.unit_ns - time.length;
  SQLite::Statement span(
      database, fmt::format("SELECT min({0}), max({0}) FROM {1} WHERE {0} BETWEEN 0 AND {2}",
                            time.column, time.table, latest));
  if (!span.executeStep() || span.getColumn(0).isNull()) return;
  const auto at = [&](int64_t units) { return FromNanoseconds(units * time.unit_ns); };
  const Timestamp first = at(span.getColumn(0).getInt64());
  const Timestamp last = at(span.getColumn(1).getInt64() + time.length);
  info.first = std::min(info.first.value_or(first), first);
  info.last = std::max(info.last.value_or(last), last);
}

// Runs `work`; false: the time limit of the connection was reached.
template <typename Work>
bool InTime(Work work) {
  try {
    work();
    return true;
  } catch (const SQLite::Exception& exception) {
    if (exception.getErrorCode() != SQLITE_INTERRUPT) throw;
    return false;
  }
}

void Describe(SQLite::Database& database, std::chrono::milliseconds most, DatabaseInfo& info) {
  SQLite::Statement row(database,
                        "SELECT name FROM sqlite_schema WHERE type = 'table' AND "
                        "name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name");
  while (row.executeStep()) info.tables.push_back({.name = row.getColumn(0), .rows = {}});
  const auto end = std::chrono::steady_clock::now() + most;
  LimitTo(database, end);
  try {
    for (const TimeColumn& time : kTimeColumns) {
      if (std::ranges::find(info.tables, time.table, &DatabaseInfo::Table::name) ==
          info.tables.end()) {
        continue;
      }
      InTime([&] { AddSpan(database, time, info); });
    }
    for (DatabaseInfo::Table& table : info.tables) {
      InTime([&] {
        table.rows = static_cast<uint64_t>(
            database.execAndGet(fmt::format("SELECT count(*) FROM {}", table.name)).getInt64());
      });
    }
  } catch (const SQLite::Exception&) {
    RemoveLimit(database);
    throw;
  }
  RemoveLimit(database);
}

}  // namespace

std::string_view KeyOf(DatabaseName name) { return KindOf(name).key; }

Result<CopiedDatabase> BackUp(DatabaseName name, const std::string& path, const std::string& to,
                              const std::function<bool()>& stops) {
  const DatabaseKind& kind = KindOf(name);
  const Result<std::string> own = OwnFile(path, kind.key);
  if (!own) return tl::unexpected(own.error());
  Result<NewFile> file = NewFile::Create(to);
  if (!file) return tl::unexpected(file.error());
  auto copied = CopyChecked(*own, file->partial(), kind, {.paces = true, .stops = stops});
  if (!copied) return copied;
  if (const Status published = file->Publish(); !published) {
    return tl::unexpected(published.error());
  }
  return copied;
}

Result<CopiedDatabase> Restore(DatabaseName name, const std::string& backup,
                               const std::string& path, Timestamp now,
                               const std::function<bool()>& stops) {
  const DatabaseKind& kind = KindOf(name);
  const Result<std::string> own = OwnFile(path, kind.key);
  if (!own) return tl::unexpected(own.error());
  std::error_code error;
  if (fs::equivalent(backup, *own, error)) {
    return Refused(
        backup, fmt::format("this is the file that key `{}` names; use a backup of it", kind.key));
  }
  const std::optional<Owner> owner = OwnerOf(*own);
  const bool has_lock_file = fs::exists(*own + ".lock", error);
  const Result<FileLock> lock = FileLock::Take(*own, kind.key);
  if (!lock) return tl::unexpected(lock.error());
  if (!has_lock_file) {
    if (const Status given = GiveTo(owner, *own + ".lock"); !given) {
      return tl::unexpected(given.error());
    }
  }
  const bool has_file = fs::exists(*own, error);
  const Mark mark = MarkOf(*own, kind.application);
  if (mark == Mark::kOthers || mark == Mark::kNoDatabase) {
    return Refused(*own, fmt::format("not a {} file of rocescope; the file was not changed; move "
                                     "it, or use another file (key `{}`)",
                                     kind.name, kind.key));
  }
  auto restored = NewFile::Create(*own, Existing::kReplaced);
  if (!restored) return tl::unexpected(restored.error());
  auto copied = CopyChecked(backup, restored->partial(), kind, {.stops = stops});
  if (!copied) return copied;
  if (const Status given = GiveTo(owner, restored->partial()); !given) {
    return tl::unexpected(given.error());
  }
  if (has_file) {
    if (mark == Mark::kOurs) WriteBackLog(*own);
    Result<std::string> kept = KeepReplaced(*own, now);
    if (!kept) return tl::unexpected(kept.error());
    copied->replaced = *std::move(kept);
  } else if (const Status moved = MoveSideFiles(*own, now); !moved) {
    return tl::unexpected(moved.error());
  }
  if (const Status published = restored->Publish(); !published) {
    Error why = published.error();
    if (!copied->replaced.empty()) {
      why.message += fmt::format("; the previous file is {}", copied->replaced);
    }
    return tl::unexpected(std::move(why));
  }
  return copied;
}

Result<DatabaseInfo> Inspect(const std::string& path, std::chrono::milliseconds most) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: the file does not exist", path));
  }
  auto database = OpenDatabase(path, SQLite::OPEN_READONLY);
  if (!database) return tl::unexpected(database.error());
  const auto application =
      Caught(*database, [&] { return database->execAndGet("PRAGMA application_id").getInt(); });
  if (!application) return tl::unexpected(application.error());
  DatabaseInfo info;
  for (const DatabaseName name : kDatabaseNames) {
    const DatabaseKind& kind = KindOf(name);
    if (kind.application != *application) continue;
    info.name = name;
    info.supported = kind.schema;
    info.bytes = HistoryBytes(path);
    const Result<int> schema = SchemaOf(*database, kind);
    if (schema) {
      info.schema = *schema;
      const auto described = Caught(*database, [&] { Describe(*database, most, info); });
      if (!described) return tl::unexpected(described.error());
      return info;
    }
    if (schema.error().code != ErrorCode::kUnimplemented) return tl::unexpected(schema.error());
    const auto version =
        Caught(*database, [&] { return database->execAndGet("PRAGMA user_version").getInt(); });
    if (!version) return tl::unexpected(version.error());
    info.schema = *version;
    return info;
  }
  return Refused(path, "not a history, job or finding file of rocescope");
}

}  // namespace rocescope
