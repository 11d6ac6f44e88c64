// SPDX-License-Identifier: BSD-3-Clause
// What a telemetry source knows of a packet's way: that it went over one of some links, each one
// way. A link and its direction are named by the port that sends.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/address.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

// Numbers below the fabric's count of ports are the port itself; those above, sets of ports.
using CrossingId = uint32_t;
inline constexpr CrossingId kNoCrossing = topology::kNone;

class CrossingTable {
 public:
  // The fabric must outlive it.
  explicit CrossingTable(const topology::Fabric& fabric);

  // Says where a tap is. One that the fabric does not know tells nothing of ways.
  void LearnTap(const TapLocation& place);

  // kNoCrossing where a tap says nothing of links.
  CrossingId OfTap(TapId tap) const { return tap < of_tap_.size() ? of_tap_[tap] : kNoCrossing; }
  // By a node's and a port's numbers; kNoCrossing for those that the fabric has not.
  CrossingId Leaving(topology::NodeIndex node, uint32_t port_number) const;
  CrossingId Entering(topology::NodeIndex node, uint32_t port_number) const;

  // Sending ports, ascending.
  std::span<const topology::PortIndex> PortsOf(CrossingId crossing) const;
  bool Contains(CrossingId crossing, topology::PortIndex port) const;

  // Crossings that taps watch and that contain this port.
  std::span<const CrossingId> WatchedOf(topology::PortIndex port) const { return watched_[port]; }

  const topology::Fabric& fabric() const { return fabric_; }

 private:
  void Watch(TapId tap, std::vector<topology::PortIndex> ports);

  const topology::Fabric& fabric_;
  std::vector<topology::PortIndex> single_;             // each port, to be pointed at
  std::vector<std::vector<topology::PortIndex>> sets_;  // by CrossingId less the count of ports
  std::vector<CrossingId> of_tap_;
  std::vector<std::vector<CrossingId>> watched_;  // by port
};

}  // namespace rocescope
