// SPDX-License-Identifier: BSD-3-Clause
// The exact counters of a recording: all counters of a run of the packet model, read in short
// steps.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataplane/run/counter_columns.h"
#include "sim/recording/exact_counters.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Receives the readings of a recording as a CounterSink; then it answers Read, at any times and in
// any order.
//
// In a recording, gpu_utilisation is the GPU's total compute time in picoseconds since the start of
// the run, so that its mean over any number of steps is exact.
class RecordedCounters final : public ExactCounters, public CounterSink {
 public:
  // The fabric, which has the nodes of the entities, must outlive this object.
  explicit RecordedCounters(const topology::Fabric& fabric) : fabric_(fabric) {}

  // Reads the recording of a run directory. The error names the file.
  static Result<std::unique_ptr<RecordedCounters>> Open(const std::string& path,
                                                        const topology::Fabric& fabric);

  // All readings of one step have the same time, and times increase from step to step.
  uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) override;
  void Append(uint32_t number, Timestamp time, Timestamp arrival,
              std::span<const uint64_t> values) override;

  std::span<const Entity> entities() const override { return entities_; }
  Timestamp begin() const override;
  Timestamp end() const override;
  // An outage is a gap between the first and the last step in which the entity was recorded, or the
  // time after the last one. It starts and ends at a step. Outages shorter than a step are not
  // recorded.
  std::vector<Outage> OutagesOf(uint32_t entity) const override;
  // The values are those of the last step that is not after `time`.
  bool Read(uint32_t entity, Timestamp since, Timestamp time, std::span<uint64_t> values) override;

  std::span<const Timestamp> steps() const { return steps_; }

 private:
  // Successive steps with equal values.
  struct Row {
    uint32_t first_step = 0;
    uint32_t last_step = 0;
  };
  struct Series {
    std::vector<Row> rows;
    std::vector<uint64_t> values;  // values of all rows
  };

  // Returns the number of the last step that is not after `time`; kNoStep if there is none.
  uint32_t StepAt(Timestamp time) const;
  uint64_t Utilisation(uint32_t entity, size_t metric, uint32_t since, uint32_t step) const;
  // Returns the index of the row that contains the step; kNoRow if the entity reported nothing.
  size_t RowAt(const Series& series, uint32_t step) const;

  static constexpr uint32_t kNoStep = std::numeric_limits<uint32_t>::max();
  static constexpr size_t kNoRow = std::numeric_limits<size_t>::max();

  const topology::Fabric& fabric_;
  std::vector<Entity> entities_;
  std::vector<Series> series_;  // indexed by entity
  std::vector<Timestamp> steps_;
};

}  // namespace rocescope::sim
