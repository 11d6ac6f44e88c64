// SPDX-License-Identifier: BSD-3-Clause
// What is asked of the file. Ranges are from the first moment to before the last one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/daemon/history/database.h"
#include "base/time.h"

namespace rocescope {

// Behind an event in the order in which they are listed.
struct EventCursor {
  int64_t at_ns = 0;
  int64_t id = 0;

  friend bool operator==(const EventCursor&, const EventCursor&) = default;
};

struct EventQuery {
  Timestamp from = kEarliestTime;
  Timestamp until = kLatestTime;
  std::string kind;   // empty: any
  std::string place;  // likewise
  std::string job;    // likewise; an id, or the scheduler's number or name
  std::optional<EventCursor> after;
  uint32_t most = 100;
};

struct EventPage {
  std::vector<std::string> messages;  // v1.Event, encoded; the latest first
  std::optional<EventCursor> next;    // none: there are no others
};

Result<EventPage> FindEvents(Database& database, const EventQuery& query);

struct SeriesQuery {
  std::string name;  // of a port; of a job its id, or the scheduler's number or name
  Timestamp from = kEarliestTime;
  Timestamp until = kLatestTime;
  Duration step{};  // rounded up to whole minutes; 0: the shortest that gives few enough points
  uint32_t max_points = 1000;
};

// A stretch of time that begins at a multiple of the step, and the minutes in it. Sums, but where
// said otherwise.
struct LinkPoint {
  Timestamp from;
  uint32_t windows = 0;
  uint32_t use_windows = 0;
  double use_sum = 0;
  double use_most = 0;  // the highest
  uint64_t bytes = 0;
  uint64_t marked = 0;
  uint64_t dropped = 0;
  uint64_t paused_ns = 0;
  uint64_t peak_bytes = 0;  // the highest
  uint64_t errors = 0;
};

struct JobPoint {
  Timestamp from;
  uint32_t looks = 0;
  uint64_t bytes = 0;
  double iterations = 0;
  uint32_t period_looks = 0;
  uint64_t period_sum_ns = 0;
  uint32_t findings = 0;  // the most
  uint32_t service = 0;   // the worst; a ServiceState
};

template <typename Point>
struct Series {
  bool is_known = false;      // the name, whether or not anything is within the range
  Duration step{};            // as asked, or longer, so that points are few enough
  std::vector<Point> points;  // ascending; none where nothing is known
};

Result<Series<LinkPoint>> FindLinkSeries(Database& database, const SeriesQuery& query);
Result<Series<JobPoint>> FindJobSeries(Database& database, const SeriesQuery& query);

// In minutes: the least multiple of `asked`, at least 1, that cuts the minutes from `first` to
// before `end` into at most `most` stretches (2 if it is less), each beginning at a multiple of it.
int64_t StepMinutes(int64_t first, int64_t end, int64_t asked, uint32_t most);

}  // namespace rocescope
