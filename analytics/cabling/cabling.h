// SPDX-License-Identifier: BSD-3-Clause
// Holds the declared topology against what flows and counters show: names cables that are plugged
// otherwise, are not there, or are not declared.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/cabling/adjacency.h"
#include "analytics/cabling/cable_finding.h"
#include "analytics/cabling/counter_fit.h"
#include "analytics/cabling/fabric_counters.h"
#include "analytics/cabling/link_change.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct CablingOptions {
  uint64_t least_flows = 2;             // that must contradict a cable
  double clear_share = 0.9;             // of the flows by a port, to believe who sends there
  uint64_t least_states = 3;            // readings of a link's state at either end
  uint64_t least_packets = 16;          // seen by a port that has no link in the topology,
  uint64_t least_bytes = 1u << 20;     // or octets that it received
  FitTolerance named;                   // of counters read by name
  FitTolerance sflow = {.periods = 1};  // an agent may send a reading a second late
};

class Cabling {
 public:
  // The fabric must outlive it.
  explicit Cabling(const topology::Fabric& fabric, const CablingOptions& options = {})
      : fabric_(fabric), options_(options), adjacency_(fabric), counters_(fabric) {}
  Cabling(const Cabling&) = delete;
  Cabling& operator=(const Cabling&) = delete;

  // Event time has reached `now`.
  void SetTime(Timestamp now) { adjacency_.SetTime(now); }
  void LearnTap(const TapLocation& place) { adjacency_.LearnTap(place); }
  void Add(const RecordBatch& batch);

  CablingAnswer Answer() const;

  // By link; a link's by time, as either end tells them.
  std::vector<LinkChange> LinkChanges() const;

 private:
  void FindUnexpected(std::vector<CableFinding>& findings) const;

  const topology::Fabric& fabric_;
  const CablingOptions options_;
  Adjacency adjacency_;
  FabricCounters counters_;
};

}  // namespace rocescope
