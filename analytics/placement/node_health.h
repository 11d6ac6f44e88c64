// SPDX-License-Identifier: BSD-3-Clause
// What speaks against hosts, and against what is above their leaves. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/placement/placement.h"

namespace rocescope {

class NodeHealth {
 public:
  // All must outlive it.
  NodeHealth(const topology::Fabric& fabric, const topology::LeafGroups& groups,
             const Findings& findings, const LinkLoads& loads);

  // Links, faults and loads of a host, without what is above: fills rails, scores and reasons.
  void Fill(NodeRank& rank) const;

 private:
  // A fault as it concerns somebody.
  struct Problem {
    const Finding* finding = nullptr;
    Suspect suspect;
    double cost = 0;  // of CostOf, by how sure it is and whether it is over
  };
  // By group or pod: the reasons, and what they leave of 1.
  struct Above {
    std::vector<PlacementReason> reasons;
    double left = 1;
  };

  // Of a link's time, by the last window: 0 to 1.
  struct Share {
    double used = 0;
    double paused = 0;
  };

  void Spread(const Problem& trouble);
  void SpreadSwitch(topology::NodeIndex node, const Problem& trouble);
  void SpreadLink(topology::LinkIndex link, const Problem& trouble);
  void AddAbove(topology::NodeIndex below, const Problem& trouble);
  void LookAbove();
  Above LookAbove(std::span<const topology::NodeIndex> below) const;
  void AddRail(const topology::Nic& nic, NodeRank& rank) const;
  Share ShareOf(topology::PortIndex port) const;
  double Taken(topology::PortIndex port) const;
  void AddLoad(topology::PortIndex port, bool above, std::vector<PlacementReason>& out) const;
  PlacementReason ReasonOf(const Problem& trouble, bool above, double cost) const;
  uint32_t UplinksOf(topology::NodeIndex node) const;

  const topology::Fabric& fabric_;
  const topology::LeafGroups& groups_;
  const LinkLoads& loads_;
  std::vector<const LinkLoad*> load_of_;     // by port; null: nobody tells
  std::vector<bool> rail_exists_;            // some host has a NIC of it plugged in
  std::vector<std::vector<Problem>> at_;     // by node: of hosts and leaves
  std::vector<std::vector<Problem>> above_;  // by switch: of its links upwards, and beyond
  std::vector<Above> above_group_;           // by group
  std::vector<Above> above_pod_;             // by pod
};

}  // namespace rocescope
