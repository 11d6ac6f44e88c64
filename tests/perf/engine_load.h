// SPDX-License-Identifier: BSD-3-Clause
// What an engine meets in a large fabric's steady state: 16,384 GPUs in jobs of 128, each job with
// one rack on either side of the spines, and the mirror of every second leaf: both directions of
// every queue pair at one place, as capacity.h reckons. Records are the same on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope::perf {

class EngineLoad {
 public:
  explicit EngineLoad(uint32_t queue_pairs);

  const std::shared_ptr<const topology::Fabric>& fabric() const { return fabric_; }
  const std::vector<TapLocation>& taps() const { return taps_; }
  // Each has two queue pairs, and so two flows.
  uint32_t connections() const { return connections_; }

  // Of an interval, for `count` connections from `first` on, or for as many that are spread evenly
  // over all: a flow record for each direction, and as a live mix has them a sighting for each
  // third flow record, and an INT hop and a sample for each hundredth.
  void Fill(uint32_t interval, uint32_t first, uint32_t count, uint32_t stride,
            RecordBatch& batch) const;

  FlowKey FlowOf(uint32_t connection, bool back) const;
  // The mirror that shows it.
  const TapLocation& PlaceOf(uint32_t connection, bool back) const;
  // The INT switch id of the leaf there.
  uint32_t IntIdOf(uint32_t connection) const;
  // Whether its data goes towards the mirrored leaf.
  static bool DataGoesBack(uint32_t connection) { return connection % 2 == 1; }

 private:
  struct Ends {
    topology::NicIndex near;  // at the mirrored leaf
    topology::NicIndex far;
  };
  Ends EndsOf(uint32_t connection) const;
  void AddFlow(uint32_t interval, uint32_t connection, bool back, RecordBatch& batch) const;
  void AddObservation(uint32_t connection, bool is_request, uint32_t psn, Timestamp time,
                   RecordBatch& batch) const;
  void AddHop(uint32_t connection, Timestamp time, RecordBatch& batch) const;
  void AddSample(uint32_t connection, Timestamp time, RecordBatch& batch) const;

  std::shared_ptr<const topology::Fabric> fabric_;
  std::vector<TapLocation> taps_;
  std::vector<TapId> tap_of_nic_;  // of its sending; the next one is of its receiving
  uint32_t connections_;
};

}  // namespace rocescope::perf
