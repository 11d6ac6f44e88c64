// SPDX-License-Identifier: BSD-3-Clause
// Deletes old or excess data in small steps, between which rows are written.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace SQLite {
class Database;
}

namespace rocescope {

struct Retention {
  Duration keep_events{};
  Duration keep_series{};
  uint64_t max_bytes = 0;  // size limit of the file with its write-ahead log
};

// Limits of one step: rows deleted from a table; events deleted because the file is nearly full
// (fewer, because events are larger); and pages returned to the file system.
inline constexpr int64_t kRowsAStep = 1000;
inline constexpr int64_t kEventsAStep = 100;
inline constexpr int64_t kPagesAStep = 256;

// Both throw SQLite::Exception.

// Sets the size limit of the file. A write beyond it fails with DatabaseFault::kFull.
void BoundFile(SQLite::Database& database, const Retention& retention);

// Deletes rows that are too old at `now`. While the file is nearly full, also deletes the oldest
// minutes or, if there are none, the oldest events. Unused names of jobs may be deleted too.
// Returns true if there is more to delete.
bool Retain(SQLite::Database& database, const Retention& retention, Timestamp now);

}  // namespace rocescope
