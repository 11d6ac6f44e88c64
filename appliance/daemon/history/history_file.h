// SPDX-License-Identifier: BSD-3-Clause
// The history file: its tables, how it is opened, and what happens to a damaged one.
#pragma once

#include <cstdint>
#include <string>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/database.h"
#include "base/time.h"

namespace rocescope {

// Application id in the file header, which `file` displays. The default of SQLite is 0.
inline constexpr int32_t kHistoryApplication = 0x526f4345;  // "RoCE"
// Schema version of the tables. A file with a later version is refused.
inline constexpr int32_t kHistorySchema = 1;

// Opens the file for writing and creates it if needed. A damaged history is moved aside, which
// `notify` reports, and a new file is created. A file without our application id is an error and is
// not changed. The error says what to do.
Result<Database> OpenHistory(const std::string& path, Timestamp now, const Notify& notify);

// Moves the file and its SQLite side files to FILE.broken-TIME and returns the new path. No process
// may have it open. Returns an error if the file cannot be examined or moved. Does not throw.
Result<std::string> MoveAside(const std::string& path, Timestamp now);

// Returns the size on disk, including the write-ahead log.
uint64_t HistoryBytes(const std::string& path);

}  // namespace rocescope
