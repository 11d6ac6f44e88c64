// SPDX-License-Identifier: BSD-3-Clause
// Wrapper of SQLite: connections, statements, and errors that name the file. Not thread-safe.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace rocescope {

// Class of the last error, as far as callers distinguish it.
enum class DatabaseFault : uint8_t {
  kNone,
  kFull,     // disk full, or size limit of the file reached
  kDamaged,  // the file is damaged or not a database
  kOther,
};

struct DatabaseError : Error {
  DatabaseFault fault = DatabaseFault::kNone;
};

// Binary data.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  // Resets the statement and binds its parameters.
  template <typename... Values>
  void Begin(const Values&... values) {
    Reset();
    int index = 0;
    (Bind(++index, values), ...);
  }

  // Executes the next step. Returns true if there is a row; its columns (from 0) can be read until
  // the next call.
  Result<bool> Step();
  // Executes a statement and ignores its rows.
  template <typename... Values>
  Status Run(const Values&... values) {
    Begin(values...);
    return Finish();
  }

  int64_t Integer(int column) const;
  uint64_t Count(int column) const { return static_cast<uint64_t>(Integer(column)); }
  double Real(int column) const;
  std::string Bytes(int column) const;  // content of a text or blob
  bool IsNull(int column) const;
  // Ends the execution. Without it, the next transaction of the connection cannot end.
  void Reset();

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  Status Finish();
  void Bind(int index, std::string_view text);
  void Bind(int index, Blob blob);
  void Bind(int index, double real);
  void BindInteger(int index, int64_t number);
  // Numbers that do not fit are bound as INT64_MAX.
  template <std::integral Number>
  void Bind(int index, Number number) {
    BindInteger(index, std::in_range<int64_t>(number) ? static_cast<int64_t>(number) : INT64_MAX);
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // kRead requires an existing file.
  enum class Access : uint8_t { kRead, kWrite };
  static Result<Database> Open(const std::string& path, Access access);

  // Sets a time limit for all following statements together. After it, the running statement and
  // all later ones fail.
  void LimitTo(std::chrono::milliseconds longest);
  // Returns whether a statement has failed because of the time limit.
  bool ran_out() const { return deadline_ && deadline_->ran_out; }

  Status Execute(const char* sql);
  Result<Statement> Prepare(std::string_view sql);
  // Returns the only value of a query or pragma.
  Result<int64_t> Value(std::string_view sql);

  DatabaseFault fault() const;
  bool is_in_transaction() const;
  int64_t last_row() const;
  int64_t changes() const;  // number of rows that the last statement changed

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  struct Deadline {
    std::chrono::steady_clock::time_point at;
    bool ran_out = false;
  };

  std::unique_ptr<Deadline> deadline_;  // referenced by the connection
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace rocescope
