// SPDX-License-Identifier: BSD-3-Clause
// What is too old, or too much, goes: in small steps, between which rows are written.
#pragma once

#include <cstdint>

#include "appliance/daemon/history/database.h"
#include "base/time.h"

namespace rocescope {

struct Retention {
  Duration keep_events{};
  Duration keep_series{};
  uint64_t max_bytes = 0;  // of the file with what is not merged into it yet
};

// Rows that a step deletes of a table, at most; events, which are larger, for want of room; and
// pages that it gives back.
inline constexpr int64_t kRowsAStep = 1000;
inline constexpr int64_t kEventsAStep = 100;
inline constexpr int64_t kPagesAStep = 256;

// The file's own bound: beyond it a write fails with DatabaseFault::kFull.
Status BoundFile(Database& database, const Retention& retention);

// What is older than it may be, by `now`; and while the file is nearly full the oldest minutes, or
// where there are none the oldest events. True: there is more to do. Names of jobs may go too.
tl::expected<bool, DatabaseError> Retain(Database& database, const Retention& retention,
                                         Timestamp now);

}  // namespace rocescope
