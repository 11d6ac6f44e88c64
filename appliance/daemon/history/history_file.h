// SPDX-License-Identifier: BSD-3-Clause
// The database files of rocescope: how they are opened, and what happens to a damaged one; the
// tables of the history.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/database.h"
#include "base/time.h"

namespace rocescope {

struct DatabaseKind {
  std::string_view name;
  std::string_view key;  // configuration key of the file
  int32_t application;   // in the file header, `file` displays it; the default of SQLite is 0
  int32_t schema;        // version of the tables; a file with a later version is refused
  const char* tables;    // creates those of schema 1
  std::string_view main_table;  // a file without it is refused
  const char* pragmas;          // for each connection
  // The pragmas write the header of a new file before its tables exist.
  bool is_header_first = false;
  // Each reads one end of a table or index, which is lost in a truncated file.
  std::span<const char* const> probes;
  // Time limit of an integrity check in OpenOwnDatabase; 0: none.
  std::chrono::milliseconds longest_check{};
  // Statements that change a file of schema i + 1 to schema i + 2. They only add tables and
  // indexes.
  std::span<const char* const> migrations = {};
  const char* later_tables = "";  // creates tables that some files have
};

// The table of trusted times, which a file of an earlier version does not have.
inline constexpr const char* kCreateTrustedTime =
    "CREATE TABLE IF NOT EXISTS trusted_time (id INTEGER PRIMARY KEY CHECK (id = 1), "
    "trusted_ns INTEGER NOT NULL, candidate_ns INTEGER, confirmed_ns INTEGER NOT NULL)";

// What a file contains.
enum class Content {
  kNothing,
  kOurs,
  kForeign,     // a database of another program
  kNoTables,    // an SQLite database without tables
  kNewer,       // a file of a later schema
  kIncomplete,  // without the main table
  kAltered,     // a table, index, view or trigger is not as rocescope creates it
};

struct FoundContent {
  Content content = Content::kNothing;
  int schema = 0;
  std::string altered;  // name of an object that rocescope did not create so
};

// Examines header and schema without changing them. Throws SQLite::Exception.
FoundContent ExamineContent(SQLite::Database& database, const DatabaseKind& kind);

// Owner of a file according to its header (https://www.sqlite.org/fileformat.html, 1.3).
enum class Mark {
  kUnsaid,  // no file, an empty one, or the answer may be in its log
  kOurs,
  kOthers,
  kNoDatabase,
};

// Must be called before SQLite opens the file, because closing a file releases the locks of the
// process on it.
Mark MarkOf(const std::string& path, int32_t ours);

const DatabaseKind& HistoryKind();

// The first opening in a process checks the file and reports permissions that cannot be set.
enum class Opening { kFirst, kAgain };

// Version 2 added past answers and blocks of link minutes.
inline constexpr int32_t kHistorySchema = 2;

// Opens the file for writing and creates it if needed. A damaged file is moved aside, which
// `notify` reports, and a new file is created. A file without our application id is an error and is
// not changed; nor is one with a table, index, view or trigger that rocescope does not create, or
// creates differently: its expressions could take any time. The error says what to do. A file of
// an earlier schema is copied (CopyBeforeMigration) and then changed. The permissions of the file
// and its side files are set to kPrivateMode.
Result<SQLite::Database> OpenOwnDatabase(const DatabaseKind& kind, const std::string& path,
                                         Timestamp now, const Notify& notify,
                                         Opening opening = Opening::kFirst);
Result<SQLite::Database> OpenHistory(const std::string& path, Timestamp now, const Notify& notify);

// Returns the name of a table of the history that was dropped; empty: none was. Throws
// SQLite::Exception.
std::string MissingTable(SQLite::Database& database);

// Moves the file and its SQLite side files to FILE.broken-TIME and returns the new path. No process
// may have it open. Returns an error if the file cannot be examined or moved. Does not throw.
Result<std::string> MoveAside(const std::string& path, Timestamp now);

// Returns "20260102T030405Z".
std::string UtcStamp(Timestamp t);

// Returns the size on disk, including the write-ahead log.
uint64_t HistoryBytes(const std::string& path);

}  // namespace rocescope
