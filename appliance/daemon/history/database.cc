// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace rocescope {
namespace {

// For another connection's lock: writers meet none but that of a checkpoint.
constexpr int kBusyMilliseconds = 500;

DatabaseFault FaultOf(int code) {
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return DatabaseFault::kNone;
    case SQLITE_FULL:
      return DatabaseFault::kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DatabaseFault::kDamaged;
    default:
      return DatabaseFault::kOther;
  }
}

ErrorCode CodeOf(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
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

tl::unexpected<Error> ErrorOf(sqlite3* connection) {
  const char* const file = sqlite3_db_filename(connection, "main");
  std::string why = sqlite3_errmsg(connection);
  const int code = sqlite3_extended_errcode(connection);
  if ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) {
    why += fmt::format(" (SQLite's code {}, errno {})", code, sqlite3_system_errno(connection));
  }
  return MakeError(CodeOf(code), fmt::format("{}: {}", file == nullptr ? "" : file, why));
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  auto error = ErrorOf(sqlite3_db_handle(statement_.get()));
  Reset();
  return error;
}

Status Statement::Finish() {
  while (true) {
    const Result<bool> row = Step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) break;
  }
  Reset();
  return {};
}

int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::Real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string Statement::Bytes(int column) const {
  const void* const begin = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  if (begin == nullptr) return "";
  return {static_cast<const char*>(begin), static_cast<size_t>(size)};
}
bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Statement::Reset() { sqlite3_reset(statement_.get()); }

void Statement::Bind(int index, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}
void Statement::Bind(int index, Blob blob) {
  sqlite3_bind_blob64(statement_.get(), index, blob.bytes.data(), blob.bytes.size(),
                      SQLITE_TRANSIENT);
}
void Statement::Bind(int index, double real) { sqlite3_bind_double(statement_.get(), index, real); }
void Statement::BindInteger(int index, int64_t number) {
  sqlite3_bind_int64(statement_.get(), index, number);
}

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

Result<Database> Database::Open(const std::string& path, Access access) {
  const int flags =
      access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, /*zVfs=*/nullptr);
  Database database;
  database.connection_.reset(opened);
  if (code != SQLITE_OK) {
    return MakeError(CodeOf(code), fmt::format("{}: {}", path,
                                               opened == nullptr ? sqlite3_errstr(code)
                                                                 : sqlite3_errmsg(opened)));
  }
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  return database;
}

void Database::LimitTo(std::chrono::milliseconds longest) {
  constexpr int kSteps =
      1000;  // of SQLite's virtual machine, from one look at the clock to another
  deadline_ = std::make_unique<Deadline>();
  deadline_->at = std::chrono::steady_clock::now() + longest;
  sqlite3_progress_handler(
      connection_.get(), kSteps,
      [](void* of) {
        auto& deadline = *static_cast<Deadline*>(of);
        if (std::chrono::steady_clock::now() < deadline.at) return 0;
        deadline.ran_out = true;
        return 1;
      },
      deadline_.get());
}

Status Database::Execute(const char* sql) {
  if (sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return ErrorOf(connection_.get());
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) != SQLITE_OK) {
    return ErrorOf(connection_.get());
  }
  Statement statement;
  statement.statement_.reset(prepared);
  return statement;
}

Result<int64_t> Database::Value(std::string_view sql) {
  auto statement = Prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  const Result<bool> row = statement->Step();
  if (!row) return tl::unexpected(row.error());
  return *row ? statement->Integer(0) : 0;
}

DatabaseFault Database::fault() const { return FaultOf(sqlite3_errcode(connection_.get())); }
bool Database::is_in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }
int64_t Database::last_row() const { return sqlite3_last_insert_rowid(connection_.get()); }
int64_t Database::changes() const { return sqlite3_changes64(connection_.get()); }

}  // namespace rocescope
