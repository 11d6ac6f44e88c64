// SPDX-License-Identifier: BSD-3-Clause
// Writes counters.jsonl, one line for each reading.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dataplane/run/checked_file.h"
#include "dataplane/run/counter_columns.h"

namespace rocescope {

// The lines are the same as those of AppendCounterLine. One thread.
class CounterLinesWriter final : public CounterSink {
 public:
  // Creates or truncates the file; "-" is standard output. The error names the path.
  static Result<std::unique_ptr<CounterLinesWriter>> Open(const std::string& path);
  ~CounterLinesWriter() override;  // discards the buffer; call Close first
  CounterLinesWriter(const CounterLinesWriter&) = delete;
  CounterLinesWriter& operator=(const CounterLinesWriter&) = delete;

  uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) override;
  void Append(uint32_t number, Timestamp time, Timestamp arrival,
              std::span<const uint64_t> values) override;
  // Returns the first error since Open: a failed write, or an invalid entity or reading. Calls
  // after an error have no effect.
  Status Close();

  // The reader of a pipe closed it; a special case of an error.
  bool reader_gone() const { return file_.reader_gone(); }

 private:
  // The parts of an entity's lines between the numbers.
  struct Entity {
    std::string front;  // after the times
    // `"NAME":` of each metric and the position of its value, in the order of the table of metrics.
    std::vector<std::pair<std::string, size_t>> metrics;
  };

  explicit CounterLinesWriter(CheckedFile file);
  void Fail(const std::string& message);
  void Flush();

  CheckedFile file_;
  Status status_;
  std::vector<Entity> entities_;
  std::string text_;  // not written yet
};

}  // namespace rocescope
