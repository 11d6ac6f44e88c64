// SPDX-License-Identifier: BSD-3-Clause
// The file: its tables, how it is opened, and what becomes of one that cannot be used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "appliance/daemon/history/database.h"
#include "base/time.h"

namespace rocescope {

// In the file's header, as `file` shows it; SQLite's own would be 0.
inline constexpr int32_t kHistoryApplication = 0x526f4345;  // "RoCE"
// Of the tables. A box refuses a later one than it knows.
inline constexpr int32_t kHistorySchema = 1;

using Tell = std::function<void(const std::string&)>;

// To write, made where there is none. A history of ours that is broken is moved aside, which `tell`
// says, and a new file begun. What does not carry our mark is an error, and not touched. The error
// says what to do.
Result<Database> OpenHistory(const std::string& path, Timestamp now, const Tell& tell);

// To FILE.broken-TIME, with what SQLite keeps beside it. Nobody may have it open. Returns where; an
// error where the disk does not let it be looked at or moved. Does not throw.
Result<std::string> MoveAside(const std::string& path, Timestamp now);

// On the disk, with what is not merged into it yet.
uint64_t HistoryBytes(const std::string& path);

}  // namespace rocescope
