// SPDX-License-Identifier: BSD-3-Clause
// Minutes of links: rows of the current hour, and blocks of earlier ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/daemon/history/compression.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/link_block.h"
#include "appliance/daemon/history/rows.h"

namespace rocescope {

inline constexpr Duration kHour = std::chrono::hours(1);
// Rows of an hour become blocks this long after its end, because some rows arrive late.
inline constexpr int64_t kCompactAfterMinutes = 5;

// Turns rows of past hours into blocks. Throws SQLite::Exception.
class LinkCompactor {
 public:
  // `database` must outlive the compactor and must not move.
  explicit LinkCompactor(SQLite::Database& database);

  struct Step {
    int64_t rows = 0;    // rows that are in a block now
    int64_t blocks = 0;  // new blocks
    std::string damage;  // why an earlier block of these links was replaced; empty: none was
  };
  // Compacts the rows of at most 128 links in one hour, in one transaction. `minute` is the current
  // one. Returns nullopt if no hour with rows has ended. Late rows are added to an existing block.
  std::optional<Step> Compact(int64_t minute);

 private:
  void AddBlock(int64_t hour, int64_t block, LinkBlockBuilder& builder, Step& step);
  void AddRows(int64_t hour, int64_t block, LinkBlockBuilder& builder, Step& step);

  SQLite::Database& database_;
  SQLite::Statement first_, rows_, delete_, find_, insert_;
  Compressor compressor_;
  Decompressor decompressor_;
};

// Reads minutes of links within one read transaction of the caller. Throws SQLite::Exception.
class LinkReader {
 public:
  explicit LinkReader(SQLite::Database& database) : database_(database) {}

  // The stored minutes: first and last; nullopt: there is none. Blocks count as whole hours.
  std::optional<int64_t> Oldest();
  std::optional<int64_t> Newest();
  // Returns the last stored minute at or before `minute`.
  std::optional<int64_t> LastAt(int64_t minute);
  // Calls `use(const LinkMinute&)` for the minutes of a port from `first` to before `end`, in any
  // order. A minute can occur twice: its values must be added then. The field `port` is not set.
  template <typename Use>
  void ForEachMinute(int64_t port, int64_t first, int64_t end, Use use);
  // Returns all links of a minute, by port. Values of the same port are added.
  std::vector<LinkMinute> LinksOf(int64_t minute);

  // Why a block could not be read; empty: all could.
  const std::string& damage() const { return damage_; }

 private:
  std::optional<LinkBlock> Parse(const SQLite::Column& message, BlockPart part = {});
  std::optional<int64_t> Number(const char* sql, int64_t parameter);

  SQLite::Database& database_;
  Decompressor decompressor_;
  std::string damage_;
};

// --- implementation

// The minutes with rows between ?2 and ?3, each found from the previous one, then the port ?1 in
// each of them. Counting through all minutes since 1970 would not end in time.
inline constexpr const char* kRowsOfPort = R"(
WITH RECURSIVE minutes(minute) AS (
  SELECT min(minute) FROM link_minutes WHERE minute >= ?2 AND minute < ?3
  UNION ALL
  SELECT (SELECT min(l.minute) FROM link_minutes AS l
          WHERE l.minute > minutes.minute AND l.minute < ?3)
  FROM minutes WHERE minutes.minute IS NOT NULL)
SELECT l.minute, windows, use_windows, use_sum, use_most, bytes, marked, dropped, paused_ns,
       peak_bytes, errors
FROM minutes AS m CROSS JOIN link_minutes AS l ON l.minute = m.minute AND l.port = ?1)";
inline constexpr const char* kBlocksOfPort =
    "SELECT hour, message FROM link_blocks WHERE block = ?1 AND hour >= ?2 AND hour <= ?3";

// Returns the values of the columns 1 to 10, and the minute of column 0.
LinkMinute LinkMinuteOf(const SQLite::Statement& row);

// Returns floor(value / unit).
constexpr int64_t FloorOf(int64_t value, int64_t unit) {
  return value / unit - (value % unit < 0 ? 1 : 0);
}

template <typename Use>
void LinkReader::ForEachMinute(int64_t port, int64_t first, int64_t end, Use use) {
  if (first >= end) return;
  SQLite::Statement row(database_, kRowsOfPort);
  Bound(row, port, first, end);
  while (row.executeStep()) use(LinkMinuteOf(row));
  const int64_t block = FloorOf(port, kLinksPerBlock);
  SQLite::Statement found(database_, kBlocksOfPort);
  Bound(found, block, FloorOf(first, kMinutesPerBlock), FloorOf(end - 1, kMinutesPerBlock));
  while (found.executeStep()) {
    const int64_t hour = found.getColumn(0);
    const auto link = static_cast<size_t>(port - block * kLinksPerBlock);
    const auto content = Parse(found.getColumn(1), {.link = link});
    if (!content) continue;
    const int64_t start = hour * kMinutesPerBlock;
    for (int64_t i = 0; i < kMinutesPerBlock; ++i) {
      if (start + i < first || start + i >= end) continue;
      auto values = content->Find(link, static_cast<size_t>(i));
      if (!values) continue;
      values->minute = start + i;
      use(*values);
    }
  }
}

}  // namespace rocescope
