// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "appliance/daemon/history/rows.h"

namespace rocescope {
namespace {

// Oldest rows of a table from before ?1, at most ?2.
constexpr std::string_view kEventJobs =
    "DELETE FROM event_jobs WHERE event IN "
    "(SELECT id FROM events WHERE at_ns < ?1 ORDER BY at_ns, id LIMIT ?2)";
constexpr std::string_view kRetainedEvents =
    "DELETE FROM events WHERE id IN "
    "(SELECT id FROM events WHERE at_ns < ?1 ORDER BY at_ns, id LIMIT ?2)";
constexpr std::string_view kLinkMinutes =
    "DELETE FROM link_minutes WHERE (minute, port) IN "
    "(SELECT minute, port FROM link_minutes WHERE minute < ?1 ORDER BY minute, port LIMIT ?2)";
constexpr std::string_view kJobMinutes =
    "DELETE FROM job_minutes WHERE (job, minute) IN "
    "(SELECT job, minute FROM job_minutes WHERE minute < ?1 ORDER BY minute, job LIMIT ?2)";
// Jobs without a minute, whose names nobody asks for.
constexpr std::string_view kJobs =
    "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE NOT EXISTS "
    "(SELECT 1 FROM job_minutes WHERE job_minutes.job = jobs.id) LIMIT ?1)";

// An eighth is left for what SQLite writes beside the file before it merges it, and a sixteenth of
// the rest for rows that come between two looks.
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

class Step {
 public:
  explicit Step(Database& database) : database_(database) {}

  // How many rows went; 0 from the first error on.
  template <typename... Values>
  int64_t Delete(std::string_view sql, const Values&... values) {
    if (!status_) return 0;
    auto statement = database_.Prepare(sql);
    if (!statement) {
      status_ = tl::unexpected(statement.error());
      return 0;
    }
    status_ = statement->Run(values...);
    return status_ ? database_.changes() : 0;
  }
  int64_t Value(std::string_view sql) {
    if (!status_) return 0;
    const auto value = database_.Value(sql);
    if (!value) status_ = tl::unexpected(value.error());
    return value.value_or(0);
  }
  void Execute(const char* sql) {
    if (status_) status_ = database_.Execute(sql);
  }

  int64_t DeleteEvents(int64_t before_ns, int64_t most) {
    Delete(kEventJobs, before_ns, most);
    return Delete(kRetainedEvents, before_ns, most);
  }
  // Of both kinds the minutes before this one.
  int64_t DeleteMinutes(int64_t before) {
    const int64_t jobs = Delete(kJobMinutes, before, kRowsAStep);
    if (jobs > 0) Delete(kJobs, kRowsAStep);
    return std::max(jobs, Delete(kLinkMinutes, before, kRowsAStep));
  }
  // As many of the oldest minutes of links as go in a step, and those of jobs of that time; without
  // links, jobs alone.
  int64_t DeleteOldestMinutes() {
    for (const std::string_view rows :
         {"link_minutes ORDER BY minute, port", "job_minutes ORDER BY minute, job"}) {
      const int64_t end = Value(
          fmt::format("SELECT ifnull(max(minute) + 1, -1) FROM (SELECT minute FROM {} LIMIT {})",
                      rows, kRowsAStep));
      if (end >= 0) return DeleteMinutes(end);
    }
    return 0;
  }
  Pages CountPages(const Retention& retention) {
    return {.all = Value("PRAGMA page_count"),
            .free = Value("PRAGMA freelist_count"),
            .most = MostPages(retention, std::max<int64_t>(Value("PRAGMA page_size"), 512))};
  }
  const Status& status() const { return status_; }

 private:
  Database& database_;
  Status status_;
};

}  // namespace

Status BoundFile(Database& database, const Retention& retention) {
  const auto page_bytes = database.Value("PRAGMA page_size");
  if (!page_bytes) return tl::unexpected(page_bytes.error());
  return database.Execute(
      fmt::format("PRAGMA max_page_count = {}", MostPages(retention, *page_bytes)).c_str());
}

tl::expected<bool, DatabaseError> Retain(Database& database, const Retention& retention,
                                         Timestamp now) {
  Step step(database);
  step.Execute("BEGIN IMMEDIATE");
  const int64_t events = step.DeleteEvents(ToNanoseconds(now - retention.keep_events), kRowsAStep);
  const int64_t minutes = step.DeleteMinutes(IntervalIndex(now - retention.keep_series, kMinute));
  bool more = std::max(events, minutes) == kRowsAStep;
  if (!more && step.CountPages(retention).IsNearlyFull()) {
    more = step.DeleteOldestMinutes() > 0 || step.DeleteEvents(INT64_MAX, kEventsAStep) > 0;
  }
  step.Execute("COMMIT");
  if (step.CountPages(retention).IsMostlyFree()) {
    const int64_t before = step.Value("PRAGMA page_count");
    step.Execute(fmt::format("PRAGMA incremental_vacuum({})", kPagesAStep).c_str());
    more = more || step.Value("PRAGMA page_count") < before;
  }
  if (step.status()) return more;
  const DatabaseFault fault = database.fault();
  if (database.is_in_transaction()) (void)database.Execute("ROLLBACK");
  return tl::unexpected(DatabaseError{step.status().error(), fault});
}

}  // namespace rocescope
