// SPDX-License-Identifier: BSD-3-Clause
// The readings in a file of counters: lines of JSON (counters.jsonl) or columns
// (counters.columns), whose formats dataplane/run defines.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/counter_group.h"
#include "dataplane/record/metric.h"
#include "dataplane/source/byte_stream.h"

namespace rocescope {

// A reading of one entity; valid until the next call of CounterReadings.
struct CounterReading {
  const CounterEntity* entity = nullptr;
  Timestamp time;     // timestamp of the reading
  Timestamp arrival;  // when it arrived at the collector
  // One value for each metric; not empty.
  std::span<const Metric> metrics;
  std::span<const uint64_t> values;
  // The entity and the metrics, if the file declares them only once.
  const CounterGroupPointer* group = nullptr;
};

class CounterReadings {
 public:
  static constexpr size_t kMaxNotes = 20;

  virtual ~CounterReadings() = default;

  // Returns the next reading in the order of the file, or null at the end. Returns an error once if
  // the file cannot be read any further; it names the file. The file is then at its end.
  virtual Result<const CounterReading*> Next() = 0;

  // Invalid readings, which Next skips, and "NAME:LINE: what was expected" for the first ones.
  virtual uint64_t refused() const { return 0; }
  virtual const std::vector<std::string>& notes() const = 0;
};

// Returns the error if the input ended early, for example by a signal, although its bytes are good.
Status CheckEnd(const ByteStream& stream, const std::string& name);

// Recognises the form by the first bytes. `name` is used in messages.
Result<std::unique_ptr<CounterReadings>> MakeCounterReadings(std::unique_ptr<ByteStream> stream,
                                                             const std::string& name);

}  // namespace rocescope
