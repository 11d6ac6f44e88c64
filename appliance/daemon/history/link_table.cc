// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/link_table.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace rocescope {
namespace {

constexpr const char* kFirstRow =
    "SELECT minute, port FROM link_minutes WHERE minute >= 0 AND minute <= ?1 "
    "ORDER BY minute, port LIMIT 1";
constexpr const char* kRowsOfBlock =
    "SELECT port, windows, use_windows, use_sum, use_most, bytes, marked, dropped, paused_ns, "
    "peak_bytes, errors FROM link_minutes WHERE minute = ?1 AND port >= ?2 AND port < ?3";
constexpr const char* kDeleteRows =
    "DELETE FROM link_minutes WHERE minute = ?1 AND port >= ?2 AND port < ?3";
constexpr const char* kFindBlock = "SELECT message FROM link_blocks WHERE hour = ?1 AND block = ?2";
constexpr const char* kInsertBlock =
    "INSERT OR REPLACE INTO link_blocks (hour, block, message) VALUES (?1, ?2, ?3)";

// The bounds exclude invalid values, which would overflow.
constexpr const char* kOldestRow =
    "SELECT min(minute) FROM link_minutes WHERE minute >= 0 AND minute <= ?1";
constexpr const char* kOldestBlock =
    "SELECT min(hour) FROM link_blocks WHERE hour >= 0 AND hour <= ?1";
constexpr const char* kNewestRow =
    "SELECT max(minute) FROM link_minutes WHERE minute >= 0 AND minute <= ?1";
constexpr const char* kNewestBlock =
    "SELECT max(hour) FROM link_blocks WHERE hour >= 0 AND hour <= ?1";
constexpr const char* kRowsOfMinute =
    "SELECT port, windows, use_windows, use_sum, use_most, bytes, marked, dropped, paused_ns, "
    "peak_bytes, errors FROM link_minutes WHERE minute = ?1";
constexpr const char* kBlocksOfHour =
    "SELECT block, message FROM link_blocks WHERE hour = ?1 AND block >= 0 AND "
    "block < 1099511627776";
constexpr const char* kPortNames = "SELECT id, name FROM ports ORDER BY id";

std::string_view TextIn(const SQLite::Column& blob) {
  return {static_cast<const char*>(blob.getBlob()), static_cast<size_t>(blob.getBytes())};
}

// Returns the last minute of the block with data, up to `latest`.
std::optional<int64_t> LastIn(const LinkBlock& block, int64_t latest) {
  for (int64_t i = latest; i >= 0; --i) {
    for (size_t link = 0; link < kLinksPerBlock; ++link) {
      if (block.Find(link, static_cast<size_t>(i))) return i;
    }
  }
  return std::nullopt;
}

uint64_t NumberAt(const SQLite::Statement& row, int column) {
  return static_cast<uint64_t>(row.getColumn(column).getInt64());
}

}  // namespace

LinkMinute LinkMinuteOf(const SQLite::Statement& row) {
  return {.minute = row.getColumn(0).getInt64(),
          .windows = static_cast<uint32_t>(NumberAt(row, 1)),
          .use_windows = static_cast<uint32_t>(NumberAt(row, 2)),
          .use_sum = row.getColumn(3).getDouble(),
          .use_most = row.getColumn(4).getDouble(),
          .bytes = NumberAt(row, 5),
          .marked = NumberAt(row, 6),
          .dropped = NumberAt(row, 7),
          .paused_ns = NumberAt(row, 8),
          .peak_bytes = NumberAt(row, 9),
          .errors = NumberAt(row, 10)};
}

LinkCompactor::LinkCompactor(SQLite::Database& database)
    : database_(database),
      first_(database, kFirstRow),
      rows_(database, kRowsOfBlock),
      delete_(database, kDeleteRows),
      find_(database, kFindBlock),
      insert_(database, kInsertBlock) {}

std::optional<LinkCompactor::Step> LinkCompactor::Compact(int64_t minute) {
  if (!Bound(first_, kLatestMinute).executeStep()) {
    first_.reset();
    return std::nullopt;
  }
  const int64_t hour = FloorOf(first_.getColumn(0), kMinutesPerBlock);
  const int64_t block = FloorOf(first_.getColumn(1), kLinksPerBlock);
  first_.reset();
  if ((hour + 1) * kMinutesPerBlock + kCompactAfterMinutes > minute) return std::nullopt;
  Step step;
  LinkBlockBuilder builder;
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  AddBlock(hour, block, builder, step);
  AddRows(hour, block, builder, step);
  const std::string message = builder.Write(compressor_);
  Bound(insert_, hour, block, Blob{message}).exec();
  transaction.commit();
  return step;
}

// Adds the block that exists.
void LinkCompactor::AddBlock(int64_t hour, int64_t block, LinkBlockBuilder& builder, Step& step) {
  if (!Bound(find_, hour, block).executeStep()) {
    step.blocks = 1;
    find_.reset();
    return;
  }
  const auto content = LinkBlock::Parse(TextIn(find_.getColumn(0)), decompressor_);
  find_.reset();
  if (!content) {
    step.damage = content.error().message;
    return;
  }
  for (size_t link = 0; link < kLinksPerBlock; ++link) {
    for (size_t i = 0; i < kMinutesPerBlock; ++i) {
      if (const auto values = content->Find(link, i)) builder.Add(link, i, *values);
    }
  }
}

// Adds the rows and deletes them.
void LinkCompactor::AddRows(int64_t hour, int64_t block, LinkBlockBuilder& builder, Step& step) {
  const int64_t first = block * kLinksPerBlock;
  for (int64_t i = 0; i < kMinutesPerBlock; ++i) {
    const int64_t minute = hour * kMinutesPerBlock + i;
    Bound(rows_, minute, first, first + kLinksPerBlock);
    int64_t rows = 0;
    for (; rows_.executeStep(); ++rows) {
      builder.Add(static_cast<size_t>(rows_.getColumn(0).getInt64() - first),
                  static_cast<size_t>(i), LinkMinuteOf(rows_));
    }
    rows_.reset();
    if (rows > 0) Bound(delete_, minute, first, first + kLinksPerBlock).exec();
    step.rows += rows;
  }
}

std::optional<int64_t> LinkReader::Number(const char* sql, int64_t parameter) {
  SQLite::Statement statement(database_, sql);
  Bound(statement, parameter);
  if (!statement.executeStep() || statement.isColumnNull(0)) return std::nullopt;
  return statement.getColumn(0).getInt64();
}

std::optional<int64_t> LinkReader::Oldest() {
  const auto row = Number(kOldestRow, kLatestMinute);
  const auto block = Number(kOldestBlock, kLatestMinute / kMinutesPerBlock);
  if (!block) return row;
  return std::min(row.value_or(INT64_MAX), *block * kMinutesPerBlock);
}

std::optional<int64_t> LinkReader::Newest() {
  const auto row = Number(kNewestRow, kLatestMinute);
  const auto block = Number(kNewestBlock, kLatestMinute / kMinutesPerBlock);
  if (!block) return row;
  return std::max(row.value_or(INT64_MIN), (*block + 1) * kMinutesPerBlock - 1);
}

std::optional<int64_t> LinkReader::LastAt(int64_t minute) {
  minute = std::min(minute, kLatestMinute);
  std::optional<int64_t> last = Number(kNewestRow, minute);
  // The hour of `minute` can have later minutes only; then the hour before it is searched, too.
  int64_t limit = FloorOf(minute, kMinutesPerBlock);
  for (int hours = 0; hours < 2; ++hours) {
    const auto hour = Number(kNewestBlock, limit);
    if (!hour || (last && FloorOf(*last, kMinutesPerBlock) > *hour)) break;
    const int64_t start = *hour * kMinutesPerBlock;
    const int64_t latest = std::min(minute, start + kMinutesPerBlock - 1);
    SQLite::Statement found(database_, kBlocksOfHour);
    Bound(found, *hour);
    while (last.value_or(INT64_MIN) < latest && found.executeStep()) {
      if (const auto content = Parse(found.getColumn(1))) {
        const auto at = LastIn(*content, latest - start);
        if (at) last = std::max(last.value_or(INT64_MIN), start + *at);
      }
    }
    if (last) break;
    limit = *hour - 1;
  }
  return last;
}

std::vector<LinkMinute> LinkReader::LinksOf(int64_t minute) {
  std::map<int64_t, LinkMinute> links;
  const auto add = [&](int64_t port, LinkMinute values) {
    values.minute = minute;
    const auto [at, is_new] = links.try_emplace(port, values);
    if (!is_new) AddTo(at->second, values);
  };
  SQLite::Statement row(database_, kRowsOfMinute);
  Bound(row, minute);
  while (row.executeStep()) add(row.getColumn(0), LinkMinuteOf(row));
  const int64_t hour = FloorOf(minute, kMinutesPerBlock);
  SQLite::Statement found(database_, kBlocksOfHour);
  Bound(found, hour);
  while (found.executeStep()) {
    const int64_t first = found.getColumn(0).getInt64() * kLinksPerBlock;
    const auto at = static_cast<size_t>(minute - hour * kMinutesPerBlock);
    const auto content = Parse(found.getColumn(1), {.minute = at});
    if (!content) continue;
    for (size_t link = 0; link < kLinksPerBlock; ++link) {
      const auto values = content->Find(link, at);
      if (values) add(first + static_cast<int64_t>(link), *values);
    }
  }
  std::vector<LinkMinute> out;
  SQLite::Statement name(database_, kPortNames);
  auto at = links.begin();
  while (at != links.end() && name.executeStep()) {
    const int64_t port = name.getColumn(0);
    while (at != links.end() && at->first < port) ++at;  // a port without a name
    if (at == links.end() || at->first > port) continue;
    at->second.port = name.getColumn(1).getString();
    out.push_back(std::move(at->second));
    ++at;
  }
  return out;
}

std::optional<LinkBlock> LinkReader::Parse(const SQLite::Column& message, BlockPart part) {
  auto block = LinkBlock::Parse(TextIn(message), decompressor_, part);
  if (block) return *std::move(block);
  if (damage_.empty()) damage_ = block.error().message;
  return std::nullopt;
}

}  // namespace rocescope
