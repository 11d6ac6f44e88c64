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

}  // namespace rocescope
