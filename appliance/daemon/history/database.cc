// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

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
    default:
      return DatabaseFault::kOther;
  }
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
    why += fmt::format(" (SQLite code {}, errno {})", exception.getExtendedErrorCode(),
                       sqlite3_system_errno(database->getHandle()));
  }
  return {{.code = CodeOf(code), .message = fmt::format("{}: {}", path, why)}, FaultOf(code)};
}

DatabaseResult<SQLite::Database> OpenDatabase(const std::string& path, int flags) {
  try {
    return SQLite::Database(path, flags | SQLite::OPEN_NOMUTEX, kBusyMilliseconds);
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected(ErrorOf(exception, path, nullptr));
  }
}

void LimitTo(SQLite::Database& database, const std::chrono::steady_clock::time_point& end) {
  // Steps of the SQLite virtual machine between two checks of the clock.
  constexpr int kSteps = 1000;
  sqlite3_progress_handler(
      database.getHandle(), kSteps,
      [](void* of) {
        const auto& limit = *static_cast<const std::chrono::steady_clock::time_point*>(of);
        return std::chrono::steady_clock::now() < limit ? 0 : 1;
      },
      const_cast<std::chrono::steady_clock::time_point*>(&end));
}

void RemoveLimit(SQLite::Database& database) {
  sqlite3_progress_handler(database.getHandle(), 0, nullptr, nullptr);
}

}  // namespace rocescope
