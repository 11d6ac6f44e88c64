// SPDX-License-Identifier: BSD-3-Clause
// Queries of the history file. Time ranges include the start and exclude the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/daemon/history/rows.h"
#include "base/time.h"

namespace SQLite {
class Database;
}

namespace rocescope {

// Position after an event, in the order of the list.
struct EventCursor {
  int64_t at_ns = 0;
  int64_t id = 0;

  friend bool operator==(const EventCursor&, const EventCursor&) = default;
};

struct EventQuery {
  Timestamp from = kEarliestTime;
  Timestamp until = kLatestTime;
  std::string kind;   // empty: all
  std::string place;  // empty: all
  std::string job;    // job id, or the number or name in the scheduler; empty: all
  std::optional<EventCursor> after;
  uint32_t most = 100;
  // Bytes of the messages of a page, above which it ends early. A page has at least one event.
  uint64_t most_bytes = UINT64_MAX;
};

struct EventPage {
  std::vector<std::string> messages;  // serialised v1.Event messages, the latest first
  std::optional<EventCursor> next;    // nullopt: this is the last page
};

// Selects all links in one minute.
struct MinuteQuery {
  int64_t minute = 0;     // minutes since the epoch: the last stored minute at or before it
  bool is_exact = false;  // only this minute
};

struct MinuteOfLinks {
  bool is_found = false;
  int64_t minute = 0;
  std::vector<LinkMinute> links;  // in the order in which the ports were first stored
  // The oldest and the newest stored minute; -1: there is none.
  int64_t oldest = -1;
  int64_t newest = -1;
  std::string damage;  // why stored values cannot be read; empty: they can
};

// All queries throw SQLite::Exception.
EventPage FindEvents(SQLite::Database& database, const EventQuery& query);

// What the name of a job in a query is.
enum class SeriesKey : uint8_t {
  kAny,     // its id, or its number or name in the scheduler
  kId,      // its id
  kNumber,  // its number in the scheduler
};

struct SeriesQuery {
  std::string name;                 // port or job
  SeriesKey key = SeriesKey::kAny;  // only for jobs
  Timestamp from = kEarliestTime;
  Timestamp until = kLatestTime;
  // Start of the retention time. Without `from`, a series starts there if it has rows after it:
  // rows of a wrong clock, which wait for their deletion, would make the steps long.
  Timestamp kept_from = kEarliestTime;
  Duration step{};  // rounded up to whole minutes; 0: the shortest that fits max_points
  uint32_t max_points = 1000;
};

// A point: the sum of the minutes in one step. It starts at a multiple of the step. The fields
// correspond to LinkMinute and JobMinute.
struct LinkPoint {
  Timestamp from;
  uint32_t windows = 0;
  uint32_t use_windows = 0;
  double use_sum = 0;
  double use_most = 0;  // maximum
  uint64_t bytes = 0;
  uint64_t marked = 0;
  uint64_t dropped = 0;
  uint64_t paused_ns = 0;
  uint64_t peak_bytes = 0;  // maximum
  uint64_t errors = 0;
};

struct JobPoint {
  Timestamp from;
  uint32_t looks = 0;
  uint64_t bytes = 0;
  double iterations = 0;
  uint32_t period_looks = 0;
  uint64_t period_sum_ns = 0;
  uint32_t findings = 0;  // maximum
  uint32_t service = 0;   // worst ServiceState
};

template <typename Point>
struct Series {
  bool is_known = false;      // the name exists, whether or not the range contains data
  Duration step{};            // the requested step, or a longer one to stay within max_points
  std::vector<Point> points;  // in ascending time; steps without data have no point
  std::string damage;         // why stored values cannot be read; empty: they can
};

Series<LinkPoint> FindLinkSeries(SQLite::Database& database, const SeriesQuery& query);
Series<JobPoint> FindJobSeries(SQLite::Database& database, const SeriesQuery& query);
MinuteOfLinks FindLinks(SQLite::Database& database, const MinuteQuery& query);

// Returns the step in minutes: the smallest multiple of `asked` (at least 1) that divides the
// minutes from `first` to before `end` into at most `most` (at least 2) intervals that start at
// multiples of the step.
int64_t StepMinutes(int64_t first, int64_t end, int64_t asked, uint32_t most);

}  // namespace rocescope
