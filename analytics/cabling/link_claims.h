// SPDX-License-Identifier: BSD-3-Clause
// Collects evidence about each declared link and each port's peer from all sources, and derives
// findings from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analytics/cabling/adjacency.h"
#include "analytics/cabling/cable_finding.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

// The frames received by a port come from a sender other than the declared one.
struct LinkClaim {
  Sender sender;          // node kNone: the sender is unknown
  uint64_t flows = 0;     // flows that show this sender
  uint64_t against = 0;   // flows that show the declared sender
  uint64_t bytes = 0;     // according to counters: bytes received but not sent by the declared peer
  uint64_t readings = 0;  // counter readings
  bool by_counters = false;
  Timestamp since;
};

class LinkClaims {
 public:
  explicit LinkClaims(const topology::Fabric& fabric) : fabric_(fabric) {}

  void Confirm(topology::LinkIndex link) { confirmed_[link] = true; }
  void Contradict(topology::PortIndex receiver, const LinkClaim& claim);
  // The counters of these two ports match only each other.
  void Connect(topology::PortIndex a, topology::PortIndex b) { by_counters_.push_back({a, b}); }

  // Links with contradicting evidence, ascending.
  std::vector<topology::LinkIndex> Contradicted() const;
  uint64_t CountConfirmed() const;
  // Traffic or counters agree with the declaration, and nothing contradicts it.
  bool IsConfirmed(topology::LinkIndex link) const;
  // Swapped links and disagreements.
  std::vector<CableFinding> Findings() const;

 private:
  std::map<topology::PortIndex, topology::PortIndex> RealCables(
      const std::vector<topology::LinkIndex>& wrong) const;
  topology::PortIndex Resolve(const Sender& sender,
                              const std::vector<topology::LinkIndex>& wrong) const;
  CableFinding FindingOf(std::span<const topology::LinkIndex> links,
                         const std::map<topology::PortIndex, topology::PortIndex>& real) const;

  const topology::Fabric& fabric_;
  std::map<topology::LinkIndex, bool> confirmed_;
  std::map<topology::PortIndex, std::vector<LinkClaim>> claims_;  // indexed by receiving port
  std::vector<Cable> by_counters_;
};

}  // namespace rocescope
