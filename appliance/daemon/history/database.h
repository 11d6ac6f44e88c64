// SPDX-License-Identifier: BSD-3-Clause
// Helpers for SQLiteCpp. Its exceptions must not leave this folder: Caught converts them to errors.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace rocescope {

// Class of an error, as far as callers distinguish it.
enum class DatabaseFault : uint8_t {
  kFull,         // disk full, or size limit of the file reached
  kDamaged,      // the file is damaged or not a database, or a table is missing
  kInterrupted,  // time limit of the connection reached
  kTooLarge,     // a value, row or statement exceeds the limits of the connection
  kOther,
};

struct DatabaseError : Error {
  DatabaseFault fault = DatabaseFault::kOther;
};

template <typename Value>
using DatabaseResult = tl::expected<Value, DatabaseError>;

// `database` is null if it could not be opened.
DatabaseError ErrorOf(const SQLite::Exception& exception, const std::string& path,
                      const SQLite::Database* database);

// Files that SQLite places next to a database.
inline constexpr std::array kSideFiles = {"-wal", "-shm", "-journal"};

// Largest value or row that is read or written. The queue of the history holds no larger rows.
inline constexpr size_t kMaxValueBytes = size_t{72} << 20;

// Opens the file, unless it or one of its side files is something other than a regular file: with
// OPEN_READONLY an existing one, which cannot be changed. Triggers and views of the file are
// ignored, and statements cannot damage it.
DatabaseResult<SQLite::Database> OpenDatabase(const std::string& path, int flags);

// Returns what `work` returns, or the exception of SQLite as an error that names the file.
template <typename Work>
DatabaseResult<decltype(std::declval<Work>()())> Caught(const SQLite::Database& database,
                                                        Work work) {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected(ErrorOf(exception, database.getFilename(), &database));
  }
}

// Makes statements fail with kInterrupted after `end`, which must outlive the connection or the
// limit.
void LimitTo(SQLite::Database& database, const std::chrono::steady_clock::time_point& end);
void RemoveLimit(SQLite::Database& database);

// Checks the structure of the file, for at most `most`: kDamaged, or kInterrupted if that was too
// short. Replaces the limit of the connection.
DatabaseResult<void> QuickCheck(SQLite::Database& database, std::chrono::milliseconds most);

// Binary data.
struct Blob {
  const std::string& bytes;
};

inline void BindOne(SQLite::Statement& statement, int index, const std::string& text) {
  statement.bind(index, text);
}
inline void BindOne(SQLite::Statement& statement, int index, Blob blob) {
  statement.bind(index, blob.bytes.data(), static_cast<int>(blob.bytes.size()));
}
inline void BindOne(SQLite::Statement& statement, int index, double real) {
  statement.bind(index, real);
}
inline void BindOne(SQLite::Statement& statement, int index, std::optional<int64_t> number) {
  number ? statement.bind(index, *number) : statement.bind(index);
}
// Numbers that do not fit are bound as INT64_MAX.
template <std::integral Number>
void BindOne(SQLite::Statement& statement, int index, Number number) {
  statement.bind(index, std::in_range<int64_t>(number) ? static_cast<int64_t>(number) : INT64_MAX);
}

// Resets the statement and binds its parameters.
template <typename... Values>
SQLite::Statement& Bound(SQLite::Statement& statement, const Values&... values) {
  statement.tryReset();
  int index = 0;
  (BindOne(statement, ++index, values), ...);
  return statement;
}

}  // namespace rocescope
