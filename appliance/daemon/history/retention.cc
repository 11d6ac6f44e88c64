// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/retention.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/daemon/history/database.h"
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

// Deletes minutes of links and jobs before this one.
int64_t DeleteMinutes(SQLite::Database& database, int64_t before) {
  const int64_t jobs = Delete(database, kJobMinutes, before, kRowsAStep);
  if (jobs > 0) Delete(database, kJobs, kRowsAStep);
  return std::max(jobs, Delete(database, kLinkMinutes, before, kRowsAStep));
}

// Deletes as many of the oldest minutes of links as fit into a step, and the minutes of jobs of the
// same time; without links, minutes of jobs only.
int64_t DeleteOldestMinutes(SQLite::Database& database) {
  for (const char* rows :
       {"link_minutes ORDER BY minute, port", "job_minutes ORDER BY minute, job"}) {
    const int64_t end = database.execAndGet(
        fmt::format("SELECT ifnull(max(minute) + 1, -1) FROM (SELECT minute FROM {} LIMIT {})",
                    rows, kRowsAStep));
    if (end >= 0) return DeleteMinutes(database, end);
  }
  return 0;
}

}  // namespace

void BoundFile(SQLite::Database& database, const Retention& retention) {
  const int64_t page_bytes = database.execAndGet("PRAGMA page_size");
  database.exec(fmt::format("PRAGMA max_page_count = {}", MostPages(retention, page_bytes)));
}

bool Retain(SQLite::Database& database, const Retention& retention, Timestamp now) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int64_t events =
      DeleteEvents(database, ToNanoseconds(now - retention.keep_events), kRowsAStep);
  const int64_t minutes =
      DeleteMinutes(database, IntervalIndex(now - retention.keep_series, kMinute));
  bool more = std::max(events, minutes) == kRowsAStep;
  if (!more && CountPages(database, retention).IsNearlyFull()) {
    more = DeleteOldestMinutes(database) > 0 || DeleteEvents(database, INT64_MAX, kEventsAStep) > 0;
  }
  transaction.commit();
  if (const Pages pages = CountPages(database, retention); pages.IsMostlyFree()) {
    database.exec(fmt::format("PRAGMA incremental_vacuum({})", kPagesAStep));
    more = more || CountPages(database, retention).all < pages.all;
  }
  return more;
}

}  // namespace rocescope
