// SPDX-License-Identifier: BSD-3-Clause
// Deletes old or excess data in small steps, between which rows are written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "appliance/daemon/history/rows.h"
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

// Limits of one step: rows deleted from a table; answers and blocks, which are larger; events
// deleted because the file is nearly full; and pages returned to the file system.
inline constexpr int64_t kRowsAStep = 1000;
inline constexpr int64_t kAnswersAStep = 50;
inline constexpr int64_t kBlocksAStep = 20;
inline constexpr int64_t kEventsAStep = 100;
inline constexpr int64_t kPagesAStep = 256;

// Numbers of rows by kind: indexes of HistoryRow, and blocks of link minutes.
using RowCounts = std::array<int64_t, std::variant_size_v<HistoryRow> + 1>;
inline constexpr size_t kEventRows = 0;
inline constexpr size_t kLinkRows = 1;
inline constexpr size_t kJobRows = 2;
inline constexpr size_t kAnswerRows = 3;
inline constexpr size_t kBlockRows = 4;
inline constexpr RowCounts kAllRows = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

// What a step deleted.
struct Deleted {
  RowCounts by_age{};
  RowCounts by_size{};
  // More rows are too old than the step was allowed to delete.
  std::array<bool, std::tuple_size_v<RowCounts>> is_limited{};
  bool more = false;  // there is more to delete now
};

// These throw SQLite::Exception.

// Sets the size limit of the file. A write beyond it fails with DatabaseFault::kFull.
void BoundFile(SQLite::Database& database, const Retention& retention);

// Deletes rows that are too old at `now`, at most `allowed` of each kind; nullopt: none. While the
// file is nearly full, also deletes the oldest minutes and answers or, if there are none, the
// oldest events. Unused names of jobs may be deleted too.
Deleted Retain(SQLite::Database& database, const Retention& retention, std::optional<Timestamp> now,
               const RowCounts& allowed);

// Returns the number of stored rows. Reads the whole file.
RowCounts CountRows(SQLite::Database& database);
// Returns a rough number of rows from the size of the file.
RowCounts EstimateRows(SQLite::Database& database);

// Rows with a later time than `after`.
struct FutureRows {
  int64_t rows = 0;  // at most kMostFutureRows for each kind
  Timestamp newest;
};
inline constexpr int64_t kMostFutureRows = 1000;
FutureRows FindFutureRows(SQLite::Database& database, Timestamp after);

// Returns the time of the newest row before the first gap between rows that is longer than
// `longest_gap`; nullopt: no rows. Rows after a gap may be dated by a wrong clock.
std::optional<Timestamp> EndOfFirstStretch(SQLite::Database& database, Duration longest_gap);

}  // namespace rocescope
