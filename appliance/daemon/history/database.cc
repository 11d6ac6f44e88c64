// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

namespace rocescope {
namespace {

// Wait for a lock of another connection. The writer meets only the lock of a checkpoint.
constexpr int kBusyMilliseconds = 500;

DatabaseFault FaultOf(int code) {
  switch (code) {
    case SQLITE_FULL:
      return DatabaseFault::kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DatabaseFault::kDamaged;
    case SQLITE_INTERRUPT:
      return DatabaseFault::kInterrupted;
    case SQLITE_TOOBIG:
      return DatabaseFault::kTooLarge;
    default:
      return DatabaseFault::kOther;
  }
}

// The tables were checked when the file was opened: a statement can fail so only if one of them was
// dropped.
bool IsMissingTable(int code, std::string_view message) {
  return code == SQLITE_ERROR &&
         (message.starts_with("no such table") || message.starts_with("no such column"));
}

// Limits of SQLite, so that neither values nor the schema of a file can make a statement take much
// memory or time. The statements of rocescope stay far below them.
constexpr std::array kLimits = {std::pair(SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxValueBytes)),
                                std::pair(SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
                                std::pair(SQLITE_LIMIT_COLUMN, 100),
                                std::pair(SQLITE_LIMIT_EXPR_DEPTH, 50),
                                std::pair(SQLITE_LIMIT_COMPOUND_SELECT, 10),
                                std::pair(SQLITE_LIMIT_VDBE_OP, 25'000),
                                std::pair(SQLITE_LIMIT_FUNCTION_ARG, 8),
                                std::pair(SQLITE_LIMIT_ATTACHED, 0),
                                std::pair(SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
                                std::pair(SQLITE_LIMIT_TRIGGER_DEPTH, 1)};

// Settings that https://www.sqlite.org/security.html recommends for a file that others may have
// written.
void Harden(SQLite::Database& database, bool is_read_only) {
  sqlite3* const handle = database.getHandle();
  for (const auto& [limit, value] : kLimits) sqlite3_limit(handle, limit, value);
  for (const auto& [option, value] :
       {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1), std::pair(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        std::pair(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), std::pair(SQLITE_DBCONFIG_ENABLE_VIEW, 0)}) {
    sqlite3_db_config(handle, option, value, nullptr);
  }
  database.exec("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
  if (is_read_only) database.exec("PRAGMA query_only = ON");
}

// SQLite would wait without limit in open() for a writer of a named pipe. Returns the path that is
// not a regular file; empty: there is none.
std::string IrregularPart(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return path;
  for (const char* side : kSideFiles) {
    std::string part = path + side;
    if (lstat(part.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) return part;
  }
  return "";
}

ErrorCode CodeOf(int code) {
  switch (code) {
    case SQLITE_FULL:
    case SQLITE_INTERRUPT:
      return ErrorCode::kResourceExhausted;
    case SQLITE_CANTOPEN:
      return ErrorCode::kNotFound;
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return ErrorCode::kPermissionDenied;
    default:
      return ErrorCode::kUnavailable;
  }
}

}  // namespace

DatabaseError ErrorOf(const SQLite::Exception& exception, const std::string& path,
                      const SQLite::Database* database) {
  const int code = exception.getErrorCode() & 0xff;
  std::string why = exception.what();
  if (database != nullptr && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN)) {
    const int error = sqlite3_system_errno(database->getHandle());
    why += fmt::format(" (SQLite code {}{}{})", exception.getExtendedErrorCode(),
                       error == 0 ? "" : ", ",
                       error == 0 ? "" : std::generic_category().message(error));
  }
  return {{.code = CodeOf(code), .message = fmt::format("{}: {}", path, why)},
          IsMissingTable(code, exception.what()) ? DatabaseFault::kDamaged : FaultOf(code)};
}

DatabaseResult<SQLite::Database> OpenDatabase(const std::string& path, int flags) {
  if (const std::string irregular = IrregularPart(path); !irregular.empty()) {
    return tl::unexpected(DatabaseError{
        {.code = ErrorCode::kInvalidArgument,
         .message = fmt::format("{}: not a regular file; the path was not changed; remove it",
                                irregular)}});
  }
  try {
    SQLite::Database database(path, flags | SQLite::OPEN_NOMUTEX, kBusyMilliseconds);
    Harden(database, (flags & SQLite::OPEN_READONLY) != 0);
    return database;
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected(ErrorOf(exception, path, nullptr));
  }
}

void LimitTo(SQLite::Database& database, const std::chrono::steady_clock::time_point& end) {
  // Steps of the SQLite virtual machine between two checks of the clock.
  constexpr int kSteps = 100;
  sqlite3_progress_handler(
      database.getHandle(), kSteps,
      [](void* of) {
        const auto& limit = *static_cast<const std::chrono::steady_clock::time_point*>(of);
        return std::chrono::steady_clock::now() < limit ? 0 : 1;
      },
      const_cast<std::chrono::steady_clock::time_point*>(&end));
}

DatabaseResult<void> QuickCheck(SQLite::Database& database, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  LimitTo(database, end);
  auto checked = Caught(database, [&] {
    const std::string found = database.execAndGet("PRAGMA quick_check(1)").getString();
    if (found != "ok") throw SQLite::Exception("integrity check: " + found, SQLITE_CORRUPT);
  });
  RemoveLimit(database);
  return checked;
}

void RemoveLimit(SQLite::Database& database) {
  sqlite3_progress_handler(database.getHandle(), 0, nullptr, nullptr);
}

}  // namespace rocescope
