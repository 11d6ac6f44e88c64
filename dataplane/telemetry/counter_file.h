// SPDX-License-Identifier: BSD-3-Clause
// Reads counters.jsonl as CounterRecords, line by line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/ledger.h"
#include "dataplane/record/record.h"
#include "dataplane/run/counter_line.h"
#include "dataplane/source/byte_stream.h"
#include "dataplane/source/filter.h"

namespace rocescope {

class CounterFile {
 public:
  static constexpr size_t kMaxNotes = 20;

  // The error names the path.
  static Result<std::unique_ptr<CounterFile>> Open(const std::string& path);
  CounterFile(std::unique_ptr<ByteStream> stream, std::string name);

  // Lines outside the window count as filtered.
  void KeepWithin(const TimeWindow& window) { window_ = window; }

  // Ignores the lines of other kinds of entities, as if they were not in the file.
  void KeepOnly(EntityKind kind) { only_ = kind; }

  // Appends the records of at most `most` lines up to the first line later than `until`. Returns
  // true if it stopped at such a line or at the limit. Returns an error once if the file cannot be
  // read any further; the file is then at its end.
  Result<bool> TakeUntil(Timestamp until, RecordBatch& out, size_t most = SIZE_MAX);

  // Counts lines; empty lines are not counted.
  const Ledger& ledger() const { return ledger_; }
  uint64_t records() const { return records_; }
  uint64_t left_out() const { return left_out_; }  // lines excluded by KeepOnly
  // "NAME:LINE: what was expected" for the first invalid lines.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool NextLine(std::string_view& line);
  Status Fill();
  void Refuse(std::string_view why);
  Status ReadNext();
  void Emit(const CounterLine& line, RecordBatch& out);

  std::unique_ptr<ByteStream> stream_;
  const std::string name_;
  TimeWindow window_;
  std::optional<EntityKind> only_;
  std::string buffer_;  // bytes that were read and not yet processed, from `begin_` on
  size_t begin_ = 0;
  bool ended_ = false;
  bool skipping_ = false;  // skipping the rest of a line that is too long
  uint64_t line_number_ = 0;
  std::optional<CounterLine> next_;
  Ledger ledger_;
  uint64_t records_ = 0;
  uint64_t left_out_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace rocescope
