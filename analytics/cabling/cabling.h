// SPDX-License-Identifier: BSD-3-Clause
// Compares the declared topology with flows and counters. Reports cables that are swapped, missing
// or not declared.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/cabling/adjacency.h"
#include "analytics/cabling/cable_finding.h"
#include "analytics/cabling/counter_fit.h"
#include "analytics/cabling/fabric_counters.h"
#include "analytics/cabling/link_change.h"
#include "analytics/cabling/link_claims.h"
#include "analytics/flow/flow_registry.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct CablingOptions {
  uint64_t least_flows = 2;   // minimum number of flows that contradict a cable
  double clear_share = 0.9;   // minimum share of the flows at a port that must agree on the sender
  uint64_t least_states = 3;  // minimum number of link state readings at each end
  uint64_t least_packets = 16;      // minimum number of packets at a port without a declared link,
  uint64_t least_bytes = 1u << 20;  // or minimum number of bytes that it received
  FitTolerance fit;                 // tolerance for counters
};

class Cabling {
 public:
  // `flows` and `fabric` must outlive this object.
  Cabling(FlowRegistry& flows, const topology::Fabric& fabric, const CablingOptions& options = {})
      : fabric_(fabric), options_(options), adjacency_(flows, fabric), counters_(fabric) {}
  Cabling(const Cabling&) = delete;
  Cabling& operator=(const Cabling&) = delete;

  void LearnTap(const TapLocation& place) { adjacency_.LearnTap(place); }
  void Add(const RecordBatch& batch, const BatchFlows& flows);

  CablingAnswer Answer() const;

  // Sorted by link; the changes of one link are sorted by time and come from either end.
  std::vector<LinkChange> LinkChanges() const;

 private:
  // A finding whose evidence was discarded because a link of it was down.
  struct Interrupted {
    CableFinding finding;  // `until`: the latest time at which one of its links was down
    bool is_over = false;  // later evidence agrees with the topology
  };

  // Keeps the findings about links that were down, and discards the evidence about these links.
  void RestartEvidence();
  void Keep(const CableFinding& finding);
  LinkClaims Claims() const;
  void FindUnexpected(std::vector<CableFinding>& findings) const;

  const topology::Fabric& fabric_;
  const CablingOptions options_;
  Adjacency adjacency_;
  FabricCounters counters_;
  std::vector<FabricCounters::Interruption> pending_;
  std::vector<Interrupted> interrupted_;  // in order of `until`
  Timestamp now_;                         // arrival of the latest reading
  Timestamp restarted_;
};

}  // namespace rocescope
