// SPDX-License-Identifier: BSD-3-Clause
// Copies of database files. backup.h has the functions for other folders.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_file.h"
#include "base/result.h"

namespace rocescope {

struct CopyLimits {
  std::optional<std::chrono::milliseconds> longest;  // unset: no limit
  // Pause after each step for as long as the step took, so that a running appliance keeps half of
  // the disk's time.
  bool paces = false;
  std::function<bool()> stops;  // polled; null: never
};

// Copies the database at this moment to the file `to`, which must be empty. Other connections may
// read and write meanwhile, if the file has a write-ahead log. The copy has none, so that it is one
// file. It is not synced. The error is kResourceExhausted if a limit ends the copying.
Status CopyDatabase(SQLite::Database& from, const std::string& to, const CopyLimits& limits);

// Copies the file at `path`, which the connection has open for writing alone, to
// FILE.before-schema-N before a migration to schema N, and removes copies of earlier migrations.
// Without enough disk space or time there is no copy, which `notify` reports: a migration does not
// depend on it.
void CopyBeforeMigration(SQLite::Database& database, const DatabaseKind& kind,
                         const std::string& path, int schema, const Notify& notify);

// Free disk space that is required for the copy of a file of this size. The file must be able to
// grow afterwards.
constexpr uint64_t SpaceForCopy(uint64_t bytes) { return 2 * bytes; }

}  // namespace rocescope
