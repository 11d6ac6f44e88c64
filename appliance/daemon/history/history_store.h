// SPDX-License-Identifier: BSD-3-Clause
// The history: a file that a separate thread writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/answer_table.h"
#include "appliance/daemon/history/queries.h"
#include "appliance/daemon/history/retainer.h"
#include "appliance/daemon/history/retention.h"
#include "appliance/daemon/history/row_queue.h"
#include "appliance/daemon/history/rows.h"
#include "base/result.h"
#include "dataplane/source/wall_clock.h"

namespace rocescope {

struct HistoryOptions {
  std::string file;
  Retention retention;
  RowQueue::Bounds queue = {.rows = 1u << 16, .bytes = size_t{64} << 20};
  // Time that a row waits for others of its transaction.
  std::chrono::milliseconds pace{250};
  // Time limit of a query, since queries block their callers.
  std::chrono::milliseconds longest_question{2000};
  std::chrono::milliseconds longest_end{15'000};      // longest time that the destructor waits
  std::function<Timestamp()> wall_clock = WallClock;  // another clock in tests
};

// Counters since the history was opened. Every added row is written, dropped or waiting.
struct HistoryCounts {
  uint64_t added = 0;
  uint64_t written = 0;
  uint64_t dropped = 0;  // queue full, or file not writable
  uint64_t errors = 0;   // errors of the file, and stored values that cannot be read
  uint64_t late = 0;     // windows and snapshots left out because their minute was already written
  uint64_t file_bytes = 0;
  std::string problem;  // why rows are currently dropped; empty: they are not
  RetentionState retention;
};

// Thread-safe.
class HistoryStore {
 public:
  // The file is locked: a second process gets an error.
  static Result<std::unique_ptr<HistoryStore>> Open(const HistoryOptions& options, Notify notify);
  // Writes the waiting rows first, for at most five seconds. If the thread does not end within
  // `longest_end`, as when the disk hangs, it is abandoned, and the lock of the file is kept.
  ~HistoryStore();

  // Never waits for the disk or for readers: if the queue is full, the row is dropped.
  void Add(HistoryRow row);
  // Sets the total number of windows and snapshots that arrived too late.
  void SetLate(uint64_t late);
  // Waits until all added rows are written or dropped. Returns false if that takes longer than
  // `most`.
  bool Flush(std::chrono::milliseconds most);
  HistoryCounts counts() const;
  // Path of the file, with symbolic links resolved.
  const std::string& file() const;

  // The error is kResourceExhausted if the query exceeds its time limit; request a shorter time
  // range then.
  Result<EventPage> Events(const EventQuery& query) const;
  Result<Series<LinkPoint>> LinkSeries(const SeriesQuery& query) const;
  Result<Series<JobPoint>> JobSeries(const SeriesQuery& query) const;
  Result<FoundAnswer> AnswerAt(const AnswerQuery& query) const;
  Result<MinuteOfLinks> LinksAt(const MinuteQuery& query) const;
  // Counts stored bytes that cannot be read, and logs the first of them.
  void ReportDamage(const std::string& what) const;

 private:
  class Writer;
  explicit HistoryStore(std::shared_ptr<Writer> writer);

  const std::shared_ptr<Writer> writer_;  // shared with its thread
};

}  // namespace rocescope
