// SPDX-License-Identifier: BSD-3-Clause
// A crossing is what one telemetry source shows of a packet's path: the packet crossed one of some
// links in one direction. A link with its direction is identified by the sending port.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/address.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

// Values below the fabric's port count identify that port; higher values identify sets of ports.
using CrossingId = uint32_t;
inline constexpr CrossingId kNoCrossing = topology::kNone;

class CrossingTable {
 public:
  // `fabric` must outlive this object.
  explicit CrossingTable(const topology::Fabric& fabric);

  // Sets the location of a tap. A tap that is not in the topology provides no path information.
  void LearnTap(const TapLocation& place);

  // kNoCrossing: the tap does not identify links.
  CrossingId OfTap(TapId tap) const { return tap < of_tap_.size() ? of_tap_[tap] : kNoCrossing; }
  // `port_number` is the number of a port on the node; kNoCrossing: not in the topology.
  CrossingId Leaving(topology::NodeIndex node, uint32_t port_number) const;
  CrossingId Entering(topology::NodeIndex node, uint32_t port_number) const;

  // Sending ports, ascending.
  std::span<const topology::PortIndex> PortsOf(CrossingId crossing) const;
  bool Contains(CrossingId crossing, topology::PortIndex port) const;

  // Crossings that contain this port and are observed by taps.
  std::span<const CrossingId> WatchedOf(topology::PortIndex port) const { return watched_[port]; }

  const topology::Fabric& fabric() const { return fabric_; }

 private:
  void Watch(TapId tap, std::vector<topology::PortIndex> ports);

  const topology::Fabric& fabric_;
  std::vector<topology::PortIndex> single_;  // each port, as the target of one-element spans
  std::vector<std::vector<topology::PortIndex>> sets_;  // index: CrossingId minus the port count
  std::vector<CrossingId> of_tap_;
  std::vector<std::vector<CrossingId>> watched_;  // indexed by port
};

}  // namespace rocescope
