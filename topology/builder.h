// SPDX-License-Identifier: BSD-3-Clause
// Builds a fabric from parts added in any order, and groups the ports by node at the end.
#pragma once

#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

// Indices are assigned in the order of adding; Build changes only those of ports. The builder
// checks nothing: Fabric::Make does.
class Builder {
 public:
  explicit Builder(std::string name) { parts_.name = std::move(name); }

  NodeIndex AddNode(Node node);  // add its ports separately, afterwards
  PortIndex AddPort(NodeIndex node, uint32_t number, std::string name);
  // Adds a port named "Ethernet7" with the number 7, where 7 is the node's port count plus one.
  PortIndex AddNextPort(NodeIndex node);
  LinkIndex AddLink(PortIndex a, PortIndex b, uint64_t bits_per_second, Duration delay);
  // Adds a NIC and its port, which has the device's name and the next number.
  NicIndex AddNic(Nic nic);
  GpuIndex AddGpu(Gpu gpu);
  void AddTap(Tap tap);

  // Allows changes to the parts. Ports are in the order of adding.
  Fabric::Parts& parts() { return parts_; }

  // Returns the parts with the ports of each node consecutive, in the order of adding. If given,
  // `moved_to` maps each old port index to the new one. The builder is empty afterwards.
  Fabric::Parts Build(std::vector<PortIndex>* moved_to = nullptr);

 private:
  Fabric::Parts parts_;
};

}  // namespace rocescope::topology
