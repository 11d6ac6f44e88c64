// SPDX-License-Identifier: BSD-3-Clause
// Counter readings in a compact columnar file (counters.columns): blocks of readings as protobuf
// messages with delta coding, compressed with zstd. README.md describes the format. A day of 8,000
// entities read every 30 s has 23 million readings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"

namespace rocescope {

// Receives the readings of counters in the order in which they arrive at the collector.
class CounterSink {
 public:
  virtual ~CounterSink() = default;

  // Announces an entity and the metrics of each of its readings (at least one, no duplicates).
  // Returns its number for Append; numbers count from 0. An entity may be announced again with
  // other metrics.
  virtual uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) = 0;
  // `values` has one value for each announced metric, in the same order. `time` is the timestamp of
  // the reading; `arrival` is the time at which it arrives and does not decrease between calls.
  virtual void Append(uint32_t number, Timestamp time, Timestamp arrival,
                      std::span<const uint64_t> values) = 0;
};

// Writes counters.columns. The same calls write the same bytes. One thread.
class CounterColumnsWriter final : public CounterSink {
 public:
  // Creates or truncates the file. The error names the path.
  static Result<std::unique_ptr<CounterColumnsWriter>> Open(const std::string& path);
  ~CounterColumnsWriter() override;  // a file without a call of Close lacks its end mark
  CounterColumnsWriter(const CounterColumnsWriter&) = delete;
  CounterColumnsWriter& operator=(const CounterColumnsWriter&) = delete;

  uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) override;
  void Append(uint32_t number, Timestamp time, Timestamp arrival,
              std::span<const uint64_t> values) override;
  // Writes the last block and the end mark. Returns the first error since Open: a failed write, an
  // invalid entity or reading, or a limit of the format. Calls after an error have no effect.
  Status Close();

  uint64_t readings() const;
  uint64_t bytes() const;  // written so far

 private:
  class Blocks;
  explicit CounterColumnsWriter(std::unique_ptr<Blocks> blocks);

  std::unique_ptr<Blocks> blocks_;
};

}  // namespace rocescope
