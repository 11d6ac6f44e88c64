// SPDX-License-Identifier: BSD-3-Clause
// Input for an engine in the steady state of a large fabric: 16,384 GPUs in jobs of 128. Each job
// has the hosts of two leaves and sends across the spines, and every second leaf mirrors both
// directions of every queue pair (the assumption of capacity.h). The records are the same on every
// machine.
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
  // Each connection has two queue pairs, and so two flows.
  uint32_t connections() const { return connections_; }

  // Generates an interval for `count` connections from `first` on, or for as many spread evenly
  // over all: a flow record for each direction, a packet observation for each third flow record,
  // and an INT hop and a sample for each hundredth, as in a live mix.
  void Fill(uint32_t interval, uint32_t first, uint32_t count, uint32_t stride,
            RecordBatch& batch) const;

  FlowKey FlowOf(uint32_t connection, bool back) const;
  // The tap that observes it.
  const TapLocation& PlaceOf(uint32_t connection, bool back) const;
  // The INT switch ID of the leaf there.
  uint32_t IntIdOf(uint32_t connection) const;
  // True if the data of the connection is sent to the NIC below the mirrored leaf.
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
  // Tap of the sending direction; the receiving direction is the next one.
  std::vector<TapId> tap_of_nic_;
  uint32_t connections_;
};

}  // namespace rocescope::perf
