// SPDX-License-Identifier: BSD-3-Clause
// Puts a fabric together in whatever order its parts come, and lays each node's ports side by side
// at the end.
#pragma once

#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

// Indices are the order of adding; Build alone changes those of ports. Checks nothing: Fabric::Make
// does.
class Builder {
 public:
  explicit Builder(std::string name) { parts_.name = std::move(name); }

  NodeIndex AddNode(Node node);  // its ports are added after it, not with it
  PortIndex AddPort(NodeIndex node, uint32_t number, std::string name);
  // A port named "Ethernet7" and numbered 7, where 7 is one more than the node's ports so far.
  PortIndex AddNextPort(NodeIndex node);
  LinkIndex AddLink(PortIndex a, PortIndex b, uint64_t bits_per_second, Duration delay);
  // With a port of the device's name and the next number.
  NicIndex AddNic(Nic nic);
  GpuIndex AddGpu(Gpu gpu);
  void AddTap(Tap tap);

  // To be filled in further. Ports are by the order of adding.
  Fabric::Parts& parts() { return parts_; }

  // The parts with each node's ports one behind the other, in the order of adding. `moved_to`, if
  // given, receives each port's new place by its old one. Nothing is left here.
  Fabric::Parts Build(std::vector<PortIndex>* moved_to = nullptr);

 private:
  Fabric::Parts parts_;
};

}  // namespace rocescope::topology
