// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/queries.h"

#include <algorithm>
#include <map>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/link_table.h"
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

constexpr const char* kJobIds =
    "SELECT id FROM jobs WHERE job = ?4 OR (name = ?4 AND name != '') "
    "OR (CAST(allocation AS TEXT) = ?4 AND allocation != 0)";

constexpr const char* kJobWithId = "SELECT id FROM jobs WHERE job = ?4";

constexpr const char* kJobsWithNumber =
    "SELECT id FROM jobs WHERE CAST(allocation AS TEXT) = ?4 AND allocation != 0";

const char* IdsOf(SeriesKey key) {
  switch (key) {
    case SeriesKey::kId:
      return kJobWithId;
    case SeriesKey::kNumber:
      return kJobsWithNumber;
    case SeriesKey::kAny:
      break;
  }
  return kJobIds;
}

constexpr const char* kJobPoints = R"(
SELECT minute / ?1 * ?1 AS point, sum(looks), sum(bytes), sum(iterations), sum(period_looks),
       sum(period_sum_ns), max(findings), max(service)
FROM job_minutes WHERE minute >= ?2 AND minute < ?3 AND job IN ()";

// Two subqueries, because SQLite finds one minimum or maximum in the index.
constexpr const char* kJobBounds = R"(
SELECT ifnull((SELECT min(minute) FROM job_minutes WHERE minute >= 0 AND minute <= ?1), 0),
       ifnull((SELECT max(minute) FROM job_minutes WHERE minute >= 0 AND minute <= ?1), -1))";

// Range of minutes, and the step in minutes.
struct Range {
  int64_t first = 0;
  int64_t end = 0;
  int64_t step = 1;
};

int64_t RoundedUp(int64_t value, int64_t unit) { return value / unit + (value % unit > 0 ? 1 : 0); }

// Returns the requested range, restricted to the stored minutes.
Range RangeOf(const SeriesQuery& query, int64_t oldest, int64_t newest) {
  Range range;
  range.first = std::max(oldest, IntervalIndex(query.from, kMinute));
  const int64_t kept = IntervalIndex(query.kept_from, kMinute);
  if (query.from == kEarliestTime && newest >= kept) range.first = std::max(range.first, kept);
  range.end = std::min(newest + 1, RoundedUp(ToNanoseconds(query.until), kMinute.count()));
  range.end = std::max(range.first, range.end);
  range.step = StepMinutes(range.first, range.end, RoundedUp(query.step.count(), kMinute.count()),
                           query.max_points);
  return range;
}

int64_t Integer(const SQLite::Statement& row, int column) { return row.getColumn(column); }
uint64_t Count(const SQLite::Statement& row, int column) {
  return static_cast<uint64_t>(Integer(row, column));
}
uint32_t SmallCount(const SQLite::Statement& row, int column) {
  return static_cast<uint32_t>(Integer(row, column));
}

Timestamp StartOf(const SQLite::Statement& row) {
  return FromNanoseconds(Integer(row, 0) * kMinute.count());
}

void AddTo(LinkPoint& point, const LinkMinute& minute) {
  point.windows += minute.windows;
  point.use_windows += minute.use_windows;
  point.use_sum += minute.use_sum;
  point.use_most = std::max(point.use_most, minute.use_most);
  point.bytes += minute.bytes;
  point.marked += minute.marked;
  point.dropped += minute.dropped;
  point.paused_ns += minute.paused_ns;
  point.peak_bytes = std::max(point.peak_bytes, minute.peak_bytes);
  point.errors += minute.errors;
}

JobPoint JobPointOf(const SQLite::Statement& row) {
  return {.from = StartOf(row),
          .looks = SmallCount(row, 1),
          .bytes = Count(row, 2),
          .iterations = row.getColumn(3).getDouble(),
          .period_looks = SmallCount(row, 4),
          .period_sum_ns = Count(row, 5),
          .findings = SmallCount(row, 6),
          .service = SmallCount(row, 7)};
}

template <typename Point, typename Key>
Series<Point> Points(SQLite::Database& database, const std::string& sql, const Range& range,
                     const Key& key, Point (*make)(const SQLite::Statement&)) {
  SQLite::Statement statement(database, sql);
  Bound(statement, range.step, range.first, range.end, key);
  Series<Point> series = {.is_known = true, .step = range.step * kMinute};
  while (statement.executeStep()) series.points.push_back(make(statement));
  return series;
}

// Returns nullopt if there is no such row.
std::optional<int64_t> IdOf(SQLite::Database& database, const char* sql, const std::string& name) {
  SQLite::Statement statement(database, sql);
  if (!Bound(statement, 0, 0, 0, name).executeStep()) return std::nullopt;
  return Integer(statement, 0);
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

EventPage FindEvents(SQLite::Database& database, const EventQuery& query) {
  const EventCursor after = query.after.value_or(EventCursor{.at_ns = INT64_MAX, .id = INT64_MAX});
  SQLite::Statement row(database, kEvents);
  Bound(row, ToNanoseconds(query.from), ToNanoseconds(query.until), after.at_ns, after.id,
        query.kind, query.place, query.job, int64_t{query.most} + 1);
  EventPage page;
  EventCursor last;
  uint64_t bytes = 0;
  while (row.executeStep()) {
    const auto size = static_cast<uint64_t>(row.getColumn(0).getBytes());
    const bool is_large = !page.messages.empty() && size > query.most_bytes - bytes;
    if (page.messages.size() == query.most || is_large) {
      page.next = last;
      break;
    }
    bytes += std::min(size, query.most_bytes - bytes);
    page.messages.push_back(row.getColumn(0).getString());
    last = {.at_ns = Integer(row, 1), .id = Integer(row, 2)};
  }
  return page;
}

Series<LinkPoint> FindLinkSeries(SQLite::Database& database, const SeriesQuery& query) {
  // One state of the file: rows can become blocks at any time.
  const SQLite::Transaction transaction(database);
  const auto port = IdOf(database, "SELECT id FROM ports WHERE name = ?4", query.name);
  if (!port) return {};
  LinkReader reader(database);
  const Range range = RangeOf(query, reader.Oldest().value_or(0), reader.Newest().value_or(-1));
  std::map<int64_t, LinkPoint> points;
  reader.ForEachMinute(*port, range.first, range.end, [&](const LinkMinute& minute) {
    AddTo(points[minute.minute / range.step * range.step], minute);
  });
  Series<LinkPoint> series = {
      .is_known = true, .step = range.step * kMinute, .damage = reader.damage()};
  for (auto& [minute, point] : points) {
    point.from = FromNanoseconds(minute * kMinute.count());
    series.points.push_back(point);
  }
  return series;
}

Series<JobPoint> FindJobSeries(SQLite::Database& database, const SeriesQuery& query) {
  const char* const ids = IdsOf(query.key);
  if (!IdOf(database, ids, query.name)) return {};
  const std::string sql = std::string(kJobPoints) + ids + ") GROUP BY point ORDER BY point";
  SQLite::Statement bounds(database, kJobBounds);
  Bound(bounds, kLatestMinute).executeStep();
  const int64_t oldest = Integer(bounds, 0);
  const int64_t newest = Integer(bounds, 1);
  return Points(database, sql, RangeOf(query, oldest, newest), query.name, JobPointOf);
}

MinuteOfLinks FindLinks(SQLite::Database& database, const MinuteQuery& query) {
  const SQLite::Transaction transaction(database);  // as above
  LinkReader reader(database);
  MinuteOfLinks found = {.oldest = reader.Oldest().value_or(-1),
                         .newest = reader.Newest().value_or(-1)};
  const auto minute = reader.LastAt(query.minute);
  if (minute && (*minute == query.minute || !query.is_exact)) {
    found.is_found = true;
    found.minute = *minute;
    found.links = reader.LinksOf(*minute);
  }
  found.damage = reader.damage();
  return found;
}

}  // namespace rocescope
