// SPDX-License-Identifier: BSD-3-Clause
// What is said of each declared link and of each port's other end, from whatever source, and what
// follows from it together.
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

// That a port's frames come from somebody else than declared.
struct LinkClaim {
  Sender sender;          // node kNone: from whom is not known
  uint64_t flows = 0;     // that show it
  uint64_t against = 0;   // that show what was declared
  uint64_t bytes = 0;    // by counters: received and not sent by the declared end
  uint64_t readings = 0;  // of counters
  bool by_counters = false;
  Timestamp since;
};

class LinkClaims {
 public:
  explicit LinkClaims(const topology::Fabric& fabric) : fabric_(fabric) {}

  void Confirm(topology::LinkIndex link) { confirmed_[link] = true; }
  void Contradict(topology::PortIndex receiver, const LinkClaim& claim);
  // Two ports whose counters fit each other's alone.
  void Connect(topology::PortIndex a, topology::PortIndex b) { by_counters_.push_back({a, b}); }

  // Links that somebody contradicts, ascending.
  std::vector<topology::LinkIndex> Contradicted() const;
  uint64_t CountConfirmed() const;
  // Swapped ones and disagreements.
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
  std::map<topology::PortIndex, std::vector<LinkClaim>> claims_;  // by the port that receives
  std::vector<Cable> by_counters_;
};

}  // namespace rocescope
