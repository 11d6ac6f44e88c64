// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/queries.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "appliance/daemon/history/rows.h"

namespace rocescope {
namespace {

constexpr const char* kEvents = R"(
SELECT message, at_ns, id FROM events
WHERE at_ns >= ?1 AND at_ns < ?2 AND (at_ns, id) < (?3, ?4)
  AND (?5 = '' OR kind = ?5) AND (?6 = '' OR place = ?6)
  AND (?7 = '' OR EXISTS (SELECT 1 FROM event_jobs WHERE event = events.id AND job IN
        (SELECT ?7 UNION SELECT job FROM jobs WHERE name = ?7 OR CAST(allocation AS TEXT) = ?7)))
ORDER BY at_ns DESC, id DESC LIMIT ?8)";

// Finds the minutes with data between ?2 and ?3, each from the previous one, then the port ?4 in
// each of them. Counting through all minutes since 1970 would not end in time.
constexpr const char* kLinkPoints = R"(
WITH RECURSIVE minutes(minute) AS (
  SELECT min(minute) FROM link_minutes WHERE minute >= ?2 AND minute < ?3
  UNION ALL
  SELECT (SELECT min(l.minute) FROM link_minutes AS l
          WHERE l.minute > minutes.minute AND l.minute < ?3)
  FROM minutes WHERE minutes.minute IS NOT NULL)
SELECT m.minute / ?1 * ?1 AS point, sum(windows), sum(use_windows), sum(use_sum), max(use_most),
       sum(bytes), sum(marked), sum(dropped), sum(paused_ns), max(peak_bytes), sum(errors)
FROM minutes AS m CROSS JOIN link_minutes AS l ON l.minute = m.minute AND l.port = ?4
GROUP BY point ORDER BY point)";

constexpr const char* kJobIds =
    "SELECT id FROM jobs WHERE job = ?4 OR (name = ?4 AND name != '') "
    "OR (CAST(allocation AS TEXT) = ?4 AND allocation != 0)";

constexpr const char* kJobPoints = R"(
SELECT minute / ?1 * ?1 AS point, sum(looks), sum(bytes), sum(iterations), sum(period_looks),
       sum(period_sum_ns), max(findings), max(service)
FROM job_minutes WHERE minute >= ?2 AND minute < ?3 AND job IN ()";

// Range of minutes, and the step in minutes.
struct Range {
  int64_t first = 0;
  int64_t end = 0;
  int64_t step = 1;
};

int64_t RoundedUp(int64_t value, int64_t unit) { return value / unit + (value % unit > 0 ? 1 : 0); }

// Returns the requested range, restricted to the minutes in the table.
Result<Range> RangeOf(Database& database, const SeriesQuery& query, const std::string& table) {
  const auto first = database.Value("SELECT ifnull(min(minute), 0) FROM " + table);
  if (!first) return tl::unexpected(first.error());
  const auto last = database.Value("SELECT ifnull(max(minute), -1) FROM " + table);
  if (!last) return tl::unexpected(last.error());
  Range range;
  range.first = std::max(*first, IntervalIndex(query.from, kMinute));
  range.end = std::min(*last + 1, RoundedUp(ToNanoseconds(query.until), kMinute.count()));
  range.end = std::max(range.first, range.end);
  range.step = StepMinutes(range.first, range.end, RoundedUp(query.step.count(), kMinute.count()),
                           query.max_points);
  return range;
}

template <typename Count>
Count CountAt(const Statement& row, int column) {
  return static_cast<Count>(row.Integer(column));
}

Timestamp StartOf(const Statement& row) {
  return FromNanoseconds(row.Integer(0) * kMinute.count());
}

LinkPoint LinkPointOf(const Statement& row) {
  return {.from = StartOf(row),
          .windows = CountAt<uint32_t>(row, 1),
          .use_windows = CountAt<uint32_t>(row, 2),
          .use_sum = row.Real(3),
          .use_most = row.Real(4),
          .bytes = row.Count(5),
          .marked = row.Count(6),
          .dropped = row.Count(7),
          .paused_ns = row.Count(8),
          .peak_bytes = row.Count(9),
          .errors = row.Count(10)};
}

JobPoint JobPointOf(const Statement& row) {
  return {.from = StartOf(row),
          .looks = CountAt<uint32_t>(row, 1),
          .bytes = row.Count(2),
          .iterations = row.Real(3),
          .period_looks = CountAt<uint32_t>(row, 4),
          .period_sum_ns = row.Count(5),
          .findings = CountAt<uint32_t>(row, 6),
          .service = CountAt<uint32_t>(row, 7)};
}

template <typename Visit>
Status ForEachRow(Statement& statement, Visit visit) {
  while (true) {
    const Result<bool> row = statement.Step();
    if (!row) return tl::unexpected(row.error());
    if (!*row) return {};
    visit(statement);
  }
}

template <typename Point, typename Key, typename Make>
Result<Series<Point>> Points(Database& database, std::string_view sql, const Range& range, Key key,
                             Make make) {
  auto statement = database.Prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  statement->Begin(range.step, range.first, range.end, key);
  Series<Point> series = {.is_known = true, .step = range.step * kMinute};
  const Status read =
      ForEachRow(*statement, [&](const Statement& row) { series.points.push_back(make(row)); });
  if (!read) return tl::unexpected(read.error());
  return series;
}

// Returns nullopt if there is no such row.
Result<std::optional<int64_t>> IdOf(Database& database, std::string_view sql,
                                    const std::string& name) {
  auto statement = database.Prepare(sql);
  if (!statement) return tl::unexpected(statement.error());
  statement->Begin(int64_t{0}, int64_t{0}, int64_t{0}, std::string_view(name));
  const Result<bool> row = statement->Step();
  if (!row) return tl::unexpected(row.error());
  return *row ? std::optional(statement->Integer(0)) : std::nullopt;
}

}  // namespace

int64_t StepMinutes(int64_t first, int64_t end, int64_t asked, uint32_t most) {
  const int64_t unit = std::max<int64_t>(asked, 1);
  if (end <= first) return unit;
  const auto count = [&](int64_t step) { return (end - 1) / step - first / step + 1; };
  // At least two points are allowed, because a step of any length may contain a multiple of it in
  // its middle.
  const int64_t points = std::max<int64_t>(most, 2);
  int64_t units = std::max<int64_t>(1, RoundedUp(end - first, points * unit));
  while (count(units * unit) > points) ++units;
  return units * unit;
}

Result<EventPage> FindEvents(Database& database, const EventQuery& query) {
  auto statement = database.Prepare(kEvents);
  if (!statement) return tl::unexpected(statement.error());
  const EventCursor after = query.after.value_or(EventCursor{.at_ns = INT64_MAX, .id = INT64_MAX});
  statement->Begin(ToNanoseconds(query.from), ToNanoseconds(query.until), after.at_ns, after.id,
                   std::string_view(query.kind), std::string_view(query.place),
                   std::string_view(query.job), int64_t{query.most} + 1);
  EventPage page;
  EventCursor last;
  const Status read = ForEachRow(*statement, [&](const Statement& row) {
    if (page.messages.size() == query.most) {
      page.next = last;
      return;
    }
    page.messages.push_back(row.Bytes(0));
    last = {.at_ns = row.Integer(1), .id = row.Integer(2)};
  });
  if (!read) return tl::unexpected(read.error());
  return page;
}

Result<Series<LinkPoint>> FindLinkSeries(Database& database, const SeriesQuery& query) {
  const auto port = IdOf(database, "SELECT id FROM ports WHERE name = ?4", query.name);
  if (!port) return tl::unexpected(port.error());
  if (!*port) return Series<LinkPoint>{};
  const auto range = RangeOf(database, query, "link_minutes");
  if (!range) return tl::unexpected(range.error());
  return Points<LinkPoint>(database, kLinkPoints, *range, **port, LinkPointOf);
}

Result<Series<JobPoint>> FindJobSeries(Database& database, const SeriesQuery& query) {
  const auto job = IdOf(database, kJobIds, query.name);
  if (!job) return tl::unexpected(job.error());
  if (!*job) return Series<JobPoint>{};
  const auto range = RangeOf(database, query, "job_minutes");
  if (!range) return tl::unexpected(range.error());
  const std::string sql = std::string(kJobPoints) + kJobIds + ") GROUP BY point ORDER BY point";
  return Points<JobPoint>(database, sql, *range, std::string_view(query.name), JobPointOf);
}

}  // namespace rocescope
