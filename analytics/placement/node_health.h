// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: collects the problems of hosts, and of the fabric above their leaves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/placement/placement.h"

namespace rocescope {

class NodeHealth {
 public:
  // All arguments must outlive this object.
  NodeHealth(const topology::Fabric& fabric, const topology::LeafGroups& groups,
             const Findings& findings, const LinkLoads& loads);

  // Fills in rails, scores and reasons from the links, faults and loads of a host, excluding the
  // fabric above its leaves.
  void Fill(NodeRank& rank) const;

 private:
  // A fault as it affects one node.
  struct Problem {
    const Finding* finding = nullptr;
    Suspect suspect;
    double cost = 0;          // CostOf, scaled by confidence and reduced if resolved
    bool is_culprit = false;  // the fault is elsewhere, and traffic of the node causes it
  };
  // Keyed by group or pod: the reasons and the remaining score.
  struct Above {
    std::vector<PlacementReason> reasons;
    double left = 1;
  };

  // Shares of a link's time in the last window, 0 to 1.
  struct Share {
    double used = 0;
    double paused = 0;
  };

  void Spread(const Problem& trouble);
  void SpreadCulprits(const Finding& finding);
  void SpreadSwitch(topology::NodeIndex node, const Problem& trouble);
  void SpreadLink(topology::LinkIndex link, const Problem& trouble);
  void AddAbove(topology::NodeIndex below, const Problem& trouble);
  void LookAbove();
  Above LookAbove(std::span<const topology::NodeIndex> below) const;
  void AddRail(const topology::Nic& nic, NodeRank& rank) const;
  Share ShareOf(topology::PortIndex port) const;
  double Taken(topology::PortIndex port) const;
  void AddLightLoad(topology::NodeIndex host, std::vector<PlacementReason>& out) const;
  void AddLoad(topology::PortIndex port, bool above, std::vector<PlacementReason>& out) const;
  PlacementReason ReasonOf(const Problem& trouble, bool above, double cost) const;
  uint32_t UplinksOf(topology::NodeIndex node) const;

  const topology::Fabric& fabric_;
  const topology::LeafGroups& groups_;
  const LinkLoads& loads_;
  std::vector<const LinkLoad*> load_of_;     // indexed by port; null: no data
  std::vector<bool> rail_exists_;            // whether any host has a linked NIC of the rail
  std::vector<std::vector<Problem>> at_;     // indexed by node: faults of hosts and leaves
  std::vector<std::vector<Problem>> above_;  // indexed by switch: faults of its uplinks and beyond
  std::vector<Above> above_group_;           // indexed by group
  std::vector<Above> above_pod_;             // indexed by pod
};

}  // namespace rocescope
