// SPDX-License-Identifier: BSD-3-Clause
// Reads counters.jsonl or counters.columns as CounterRecords. The form is recognised by the first
// bytes; both give the same records and the same ledger.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/ledger.h"
#include "dataplane/record/record.h"
#include "dataplane/source/byte_stream.h"
#include "dataplane/source/filter.h"
#include "dataplane/telemetry/counter_readings.h"

namespace rocescope {

class CounterFile {
 public:
  static constexpr size_t kMaxNotes = CounterReadings::kMaxNotes;

  // The error names the path.
  static Result<std::unique_ptr<CounterFile>> Open(const std::string& path);
  CounterFile(std::unique_ptr<ByteStream> stream, std::string name);

  // Readings that arrived outside the window count as filtered.
  void KeepWithin(const TimeWindow& window) { window_ = window; }

  // Ignores the readings of other kinds of entities, as if they were not in the file.
  void KeepOnly(EntityKind kind) { only_ = kind; }

  // Emits readings of counters.columns as ReadingRecords instead of CounterRecords.
  void EmitGroups() { emits_groups_ = true; }

  // The timestamp of the next reading, before TakeUntil has taken it; unset at the end.
  Result<std::optional<Timestamp>> NextTime();

  // Appends the records of at most `most` readings up to the first reading that arrived later than
  // `until`. Returns true if it stopped at the limit. Returns an error once if the file cannot be
  // read any further; the file is then at its end.
  Result<bool> TakeUntil(Timestamp until, RecordBatch& out, size_t most = SIZE_MAX);

  // Whether the last TakeUntil stopped at a reading that arrived later.
  bool has_later_reading() const { return next_ != nullptr; }

  // Counts readings; the empty lines of counters.jsonl are not counted.
  const Ledger& ledger() const { return ledger_; }
  uint64_t records() const { return records_; }
  uint64_t left_out() const { return left_out_; }  // readings excluded by KeepOnly
  // "NAME:LINE: what was expected" for the first invalid lines.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status ReadNext();
  void Emit(const CounterReading& reading, RecordBatch& out);

  std::unique_ptr<ByteStream> stream_;         // until the first reading
  std::unique_ptr<CounterReadings> readings_;  // afterwards
  const std::string name_;
  TimeWindow window_;
  std::optional<EntityKind> only_;
  bool emits_groups_ = false;
  const CounterReading* next_ = nullptr;
  Ledger ledger_;
  uint64_t records_ = 0;
  uint64_t left_out_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace rocescope
