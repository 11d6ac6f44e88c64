// SPDX-License-Identifier: BSD-3-Clause
// SQLite as the rest of this folder uses it: a connection, statements, errors that name the file.
// Each is of one thread at a time.
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

// What went wrong last, as far as it matters what is done about it.
enum class DatabaseFault : uint8_t {
  kNone,
  kFull,     // no room, on the disk or by the file's own bound
  kDamaged,  // the file is broken, or no database
  kOther,
};

struct DatabaseError : Error {
  DatabaseFault fault = DatabaseFault::kNone;
};

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  // Begins anew, with these values for its parameters.
  template <typename... Values>
  void Begin(const Values&... values) {
    Reset();
    int index = 0;
    (Bind(++index, values), ...);
  }

  // True: there is a row, whose columns (from 0) can be read until the next call.
  Result<bool> Step();
  // One that has no rows, or whose rows do not matter.
  template <typename... Values>
  Status Run(const Values&... values) {
    Begin(values...);
    return Finish();
  }

  int64_t Integer(int column) const;
  uint64_t Count(int column) const { return static_cast<uint64_t>(Integer(column)); }
  double Real(int column) const;
  std::string Bytes(int column) const;  // of a text or blob
  bool IsNull(int column) const;
  // Without which the connection's next transaction would not end.
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
  // What does not fit is the most that does.
  template <std::integral Number>
  void Bind(int index, Number number) {
    BindInteger(index, std::in_range<int64_t>(number) ? static_cast<int64_t>(number) : INT64_MAX);
  }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // To be read alone, the file must be there.
  enum class Access : uint8_t { kRead, kWrite };
  static Result<Database> Open(const std::string& path, Access access);

  // From now on, all statements together may take so long: then the one that runs fails, as do
  // those after it.
  void LimitTo(std::chrono::milliseconds longest);
  // Whether one has failed for that.
  bool ran_out() const { return deadline_ && deadline_->ran_out; }

  Status Execute(const char* sql);
  Result<Statement> Prepare(std::string_view sql);
  // The only value of a query: a pragma's.
  Result<int64_t> Value(std::string_view sql);

  DatabaseFault fault() const;
  bool is_in_transaction() const;
  int64_t last_row() const;
  int64_t changes() const;  // rows that the last statement changed

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  struct Deadline {
    std::chrono::steady_clock::time_point at;
    bool ran_out = false;
  };

  std::unique_ptr<Deadline> deadline_;  // which the connection refers to
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace rocescope
