// SPDX-License-Identifier: BSD-3-Clause
// What happened, beyond what memory keeps: a file that a thread of its own writes to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "appliance/daemon/history/history_file.h"
#include "appliance/daemon/history/queries.h"
#include "appliance/daemon/history/retention.h"
#include "appliance/daemon/history/row_queue.h"
#include "appliance/daemon/history/rows.h"
#include "base/result.h"

namespace rocescope {

struct HistoryOptions {
  std::string file;
  Retention retention;
  RowQueue::Bounds queue = {.rows = 1u << 16, .bytes = size_t{64} << 20};
  // A row waits so long for others of its transaction.
  std::chrono::milliseconds pace{250};
  // A question that takes longer is given up: others wait for whoever asked.
  std::chrono::milliseconds longest_question{2000};
};

// Since it was opened. Every row that was added is written, dropped, or waits.
struct HistoryCounts {
  uint64_t added = 0;
  uint64_t written = 0;
  uint64_t dropped = 0;  // without room in the queue, or since the file took no more
  uint64_t errors = 0;   // of the file
  uint64_t late = 0;     // windows and answers that are in no row: their minute was over
  uint64_t file_bytes = 0;
  std::string problem;  // why rows are dropped now; empty: they are not
};

// Any thread, any time.
class HistoryStore {
 public:
  // `tell` is for sentences to people, by any thread. The file is one box's: a second one gets an
  // error.
  static Result<std::unique_ptr<HistoryStore>> Open(const HistoryOptions& options, Tell tell);
  // What was added is written first, for five seconds at most.
  ~HistoryStore();

  // Waits neither for the disk nor for readers: without room the row is dropped.
  void Add(HistoryRow row);
  // So many in all have come too late to be added.
  void SetLate(uint64_t late);
  // Until all that was added is written or dropped; false: not within `most`.
  bool Flush(std::chrono::milliseconds most);
  HistoryCounts counts() const;

  // A kResourceExhausted: it took longer than it may, and has to be asked of less time.
  Result<EventPage> Events(const EventQuery& query) const;
  Result<Series<LinkPoint>> LinkSeries(const SeriesQuery& query) const;
  Result<Series<JobPoint>> JobSeries(const SeriesQuery& query) const;

 private:
  class Writer;
  explicit HistoryStore(std::unique_ptr<Writer> writer);

  std::unique_ptr<Writer> writer_;
};

}  // namespace rocescope
