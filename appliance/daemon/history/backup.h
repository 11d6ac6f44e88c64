// SPDX-License-Identifier: BSD-3-Clause
// Backup, restore and description of the database files of rocescope. For the command line; the
// appliance itself only copies a file before a migration (database_copy.h).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

enum class DatabaseName : uint8_t {
  kHistory,   // key `history.file`
  kJobs,      // key `jobs.file`
  kFindings,  // key `findings.file`
};
inline constexpr std::array kDatabaseNames = {DatabaseName::kHistory, DatabaseName::kJobs,
                                              DatabaseName::kFindings};

// Configuration key of the file.
std::string_view KeyOf(DatabaseName name);

struct CopiedDatabase {
  int schema = 0;
  uint64_t bytes = 0;    // size of the copy
  std::string replaced;  // by a restore: new path of the previous file; empty: there was none
};

// Copies the file at `path` to the new file `to` (mode 0600), which is one file and can be opened
// without side files. An appliance may use the file meanwhile; the copy has the state of the start
// of the copying. The copy is checked completely (PRAGMA integrity_check) and on the disk before it
// gets its name. On an error, there is no file `to`. `stops` is polled during the copying.
Result<CopiedDatabase> BackUp(DatabaseName name, const std::string& path, const std::string& to,
                              const std::function<bool()>& stops = nullptr);

// Replaces the file at `path` by a copy of `backup`, which must be of this or an earlier schema and
// intact, and is not changed. The previous file becomes FILE.replaced-TIME. On an error, nothing
// has changed. A running appliance has the file locked, which is an error. If root runs this, the
// new file gets the owner of the previous one or, without one, of the directory.
Result<CopiedDatabase> Restore(DatabaseName name, const std::string& backup,
                               const std::string& path, Timestamp now,
                               const std::function<bool()>& stops = nullptr);

struct DatabaseInfo {
  DatabaseName name = DatabaseName::kHistory;
  int schema = 0;
  int supported = 0;   // latest schema of this version of rocescope; the earliest is 1
  uint64_t bytes = 0;  // on disk, with the write-ahead log
  struct Table {
    std::string name;
    std::optional<uint64_t> rows;  // unset: counting took too long
  };
  std::vector<Table> tables;             // in the order of names; empty for a later schema
  std::optional<Timestamp> first, last;  // time of the oldest and newest row with a time
};

// Describes a history, job or finding file, which an appliance may use meanwhile. Rows are counted
// for at most `most`.
Result<DatabaseInfo> Inspect(const std::string& path, std::chrono::milliseconds most);

}  // namespace rocescope
