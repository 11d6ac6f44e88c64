// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/link_table.h"
#include "appliance/daemon/history/rows.h"

namespace rocescope {
namespace {

// Delete the oldest rows of a table before ?1, at most ?2.
constexpr const char* kEventJobs =
    "DELETE FROM event_jobs WHERE event IN "
    "(SELECT id FROM events WHERE at_ns < ?1 ORDER BY at_ns, id LIMIT ?2)";
constexpr const char* kRetainedEvents =
    "DELETE FROM events WHERE id IN "
    "(SELECT id FROM events WHERE at_ns < ?1 ORDER BY at_ns, id LIMIT ?2)";
constexpr const char* kLinkMinutes =
    "DELETE FROM link_minutes WHERE (minute, port) IN "
    "(SELECT minute, port FROM link_minutes WHERE minute < ?1 ORDER BY minute, port LIMIT ?2)";
constexpr const char* kJobMinutes =
    "DELETE FROM job_minutes WHERE (job, minute) IN "
    "(SELECT job, minute FROM job_minutes WHERE minute < ?1 ORDER BY minute, job LIMIT ?2)";
constexpr const char* kAnswers =
    "DELETE FROM answers WHERE id IN "
    "(SELECT id FROM answers WHERE last_ns < ?1 ORDER BY last_ns, id LIMIT ?2)";
constexpr const char* kLinkBlocks =
    "DELETE FROM link_blocks WHERE (hour, block) IN "
    "(SELECT hour, block FROM link_blocks WHERE hour < ?1 ORDER BY hour, block LIMIT ?2)";
// Delete jobs without minutes, whose names are no longer needed.
constexpr const char* kJobs =
    "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE NOT EXISTS "
    "(SELECT 1 FROM job_minutes WHERE job_minutes.job = jobs.id) LIMIT ?1)";

// An eighth of the limit is reserved for the write-ahead log, and a sixteenth of the rest for rows
// that arrive between two steps.
int64_t MostPages(const Retention& retention, int64_t page_bytes) {
  const uint64_t bytes = retention.max_bytes - retention.max_bytes / 8;
  return std::max<int64_t>(1, static_cast<int64_t>(bytes) / page_bytes);
}

struct Pages {
  int64_t all = 0;
  int64_t free = 0;
  int64_t most = 0;

  bool IsNearlyFull() const { return all - free > most - most / 16; }
  bool IsMostlyFree() const { return all > most || free > all / 4; }
};

Pages CountPages(SQLite::Database& database, const Retention& retention) {
  const int64_t page_bytes = database.execAndGet("PRAGMA page_size");
  return {.all = database.execAndGet("PRAGMA page_count"),
          .free = database.execAndGet("PRAGMA freelist_count"),
          .most = MostPages(retention, page_bytes)};
}

// Returns the number of deleted rows.
template <typename... Values>
int64_t Delete(SQLite::Database& database, const char* sql, const Values&... values) {
  SQLite::Statement statement(database, sql);
  return Bound(statement, values...).exec();
}

int64_t DeleteEvents(SQLite::Database& database, int64_t before_ns, int64_t most) {
  Delete(database, kEventJobs, before_ns, most);
  return Delete(database, kRetainedEvents, before_ns, most);
}

int64_t DeleteLinkMinutes(SQLite::Database& database, int64_t before, int64_t most) {
  return Delete(database, kLinkMinutes, before, most);
}

int64_t DeleteJobMinutes(SQLite::Database& database, int64_t before, int64_t most) {
  const int64_t jobs = Delete(database, kJobMinutes, before, most);
  if (jobs > 0) Delete(database, kJobs, kRowsAStep);
  return jobs;
}

int64_t DeleteAnswers(SQLite::Database& database, int64_t before_ns, int64_t most) {
  return Delete(database, kAnswers, before_ns, most);
}

int64_t DeleteLinkBlocks(SQLite::Database& database, int64_t before, int64_t most) {
  return Delete(database, kLinkBlocks, before, most);
}

// The rows of one kind: how they are found and deleted. Times are nanoseconds or minutes.
struct Kind {
  const char* table;
  const char* time;
  int64_t unit_ns;
  int64_t a_step;  // greatest number of rows deleted in one step
  int64_t (*remove)(SQLite::Database&, int64_t before, int64_t most);

  // Returns the value of `expression`, which may be NULL, over the rows until `last`.
  std::optional<int64_t> Find(SQLite::Database& database, std::string_view expression,
                              int64_t last = INT64_MAX) const {
    SQLite::Statement statement(
        database, fmt::format("SELECT {} FROM {} WHERE {} <= ?1", expression, table, time));
    Bound(statement, last).executeStep();
    if (statement.isColumnNull(0)) return std::nullopt;
    return statement.getColumn(0).getInt64();
  }
  std::optional<int64_t> Oldest(SQLite::Database& database) const {
    return Find(database, fmt::format("min({})", time));
  }
  std::optional<int64_t> Newest(SQLite::Database& database, int64_t last) const {
    return Find(database, fmt::format("max({})", time), last);
  }
  int64_t TimeOf(Timestamp t) const { return IntervalIndex(t, Duration(unit_ns)); }
  // Stored times may be out of range.
  Timestamp At(int64_t stored) const {
    const int64_t most = ToNanoseconds(kLatestTime) / unit_ns;
    return FromNanoseconds(std::clamp<int64_t>(stored, 0, most) * unit_ns);
  }
};
constexpr std::array<Kind, std::tuple_size_v<RowCounts>> kKinds = {
    {{"events", "at_ns", 1, kRowsAStep, DeleteEvents},
     {"link_minutes", "minute", kMinute.count(), kRowsAStep, DeleteLinkMinutes},
     {"job_minutes", "minute", kMinute.count(), kRowsAStep, DeleteJobMinutes},
     {"answers", "last_ns", 1, kAnswersAStep, DeleteAnswers},
     {"link_blocks", "hour", kHour.count(), kBlocksAStep, DeleteLinkBlocks}}};
constexpr std::array kSeriesKinds = {kLinkRows, kJobRows, kAnswerRows, kBlockRows};

void DeleteOld(SQLite::Database& database, const Retention& retention, Timestamp now,
               const RowCounts& allowed, Deleted& out) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const Kind& kind = kKinds[i];
    const int64_t before =
        kind.TimeOf(now - (i == kEventRows ? retention.keep_events : retention.keep_series));
    const int64_t most = std::min(allowed[i], kind.a_step);
    out.by_age[i] = most > 0 ? kind.remove(database, before, most) : 0;
    if (out.by_age[i] < most) continue;
    if (most == kind.a_step) {
      out.more = true;
    } else {
      const auto oldest = kind.Oldest(database);
      out.is_limited[i] = oldest && *oldest < before;
    }
  }
}

// Deletes as many of the oldest rows as fit into a step, of the kind that has the oldest row, and
// the rows of the same time of the other kinds; events only if there is nothing else.
void DeleteOldest(SQLite::Database& database, RowCounts& out) {
  const Kind* oldest = nullptr;
  Timestamp start = kLatestTime;
  for (const size_t i : kSeriesKinds) {
    const auto first = kKinds[i].Oldest(database);
    if (!first || (oldest != nullptr && kKinds[i].At(*first) >= start)) continue;
    oldest = &kKinds[i];
    start = oldest->At(*first);
  }
  if (oldest == nullptr) {
    out[kEventRows] += DeleteEvents(database, INT64_MAX, kEventsAStep);
    return;
  }
  const int64_t last = database.execAndGet(
      fmt::format("SELECT max({0}) FROM (SELECT {0} FROM {1} ORDER BY {0} LIMIT {2})", oldest->time,
                  oldest->table, oldest->a_step));
  const Timestamp end = WithinBounds(oldest->At(last) + Duration(oldest->unit_ns));
  for (const size_t i : kSeriesKinds) {
    const Kind& kind = kKinds[i];
    // Rows that end later are kept.
    const int64_t before = &kind != oldest ? kind.TimeOf(end) : last == INT64_MAX ? last : last + 1;
    out[i] += kind.remove(database, before, kind.a_step);
  }
}

}  // namespace

void BoundFile(SQLite::Database& database, const Retention& retention) {
  const int64_t page_bytes = database.execAndGet("PRAGMA page_size");
  database.exec(fmt::format("PRAGMA max_page_count = {}", MostPages(retention, page_bytes)));
}

Deleted Retain(SQLite::Database& database, const Retention& retention, std::optional<Timestamp> now,
               const RowCounts& allowed) {
  Deleted deleted;
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (now) DeleteOld(database, retention, *now, allowed, deleted);
  if (!deleted.more && CountPages(database, retention).IsNearlyFull()) {
    DeleteOldest(database, deleted.by_size);
    deleted.more = std::ranges::any_of(deleted.by_size, [](int64_t rows) { return rows > 0; });
  }
  transaction.commit();
  if (const Pages pages = CountPages(database, retention); pages.IsMostlyFree()) {
    database.exec(fmt::format("PRAGMA incremental_vacuum({})", kPagesAStep));
    deleted.more = deleted.more || CountPages(database, retention).all < pages.all;
  }
  return deleted;
}

RowCounts CountRows(SQLite::Database& database) {
  RowCounts rows{};
  for (size_t i = 0; i < kKinds.size(); ++i) {
    rows[i] = kKinds[i].Find(database, "count(*)").value_or(0);
  }
  return rows;
}

RowCounts EstimateRows(SQLite::Database& database) {
  constexpr int64_t kRowsAPage = 16;  // about 4 events, or 60 minutes of a link
  RowCounts rows{};
  const int64_t pages = database.execAndGet("PRAGMA page_count");
  rows.fill(pages * kRowsAPage);
  // Each takes several pages.
  rows[kAnswerRows] = rows[kBlockRows] = pages / 4;
  return rows;
}

FutureRows FindFutureRows(SQLite::Database& database, Timestamp after) {
  FutureRows future;
  for (const Kind& kind : kKinds) {
    SQLite::Statement statement(
        database, fmt::format("SELECT count(*), max({0}) FROM (SELECT {0} FROM {1} WHERE {0} > ?1 "
                              "ORDER BY {0} DESC LIMIT ?2)",
                              kind.time, kind.table));
    Bound(statement, kind.TimeOf(after), kMostFutureRows).executeStep();
    const int64_t rows = statement.getColumn(0).getInt64();
    if (rows == 0) continue;
    future.rows += rows;
    future.newest = std::max(future.newest, kind.At(statement.getColumn(1).getInt64()));
  }
  return future;
}

std::optional<Timestamp> EndOfFirstStretch(SQLite::Database& database, Duration longest_gap) {
  std::optional<Timestamp> end;
  for (const Kind& kind : kKinds) {
    const auto oldest = kind.Oldest(database);
    if (oldest) end = std::min(end.value_or(kLatestTime), kind.At(*oldest));
  }
  if (!end) return end;
  while (true) {
    Timestamp next = *end;
    for (const Kind& kind : kKinds) {
      const auto newest = kind.Newest(database, kind.TimeOf(WithinBounds(*end + longest_gap)));
      if (newest) next = std::max(next, kind.At(*newest));
    }
    if (next == *end) return end;
    end = next;
  }
}

}  // namespace rocescope
