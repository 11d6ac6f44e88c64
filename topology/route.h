// SPDX-License-Identifier: BSD-3-Clause
// Routes of a Clos: up towards any common ancestor, then down, over all equal shortest paths
// (ECMP), without failed links, as after convergence of routing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

// Next hops of every switch towards every edge switch (a switch with NICs). They are computed on
// first use for each edge switch: 0.1 ms and 0.1 MB each in a fabric of 8,192 hosts.
//
// A switch that can reach the edge by going down only goes down; every other switch goes up.
// Therefore no path has a valley (up after down) whatever links fail, and there are no loops. This
// follows RFC 7938 (BGP in large data centers), without its private AS numbers. Links between
// switches of the same tier carry no traffic.
//
// The edge switch announces its hosts: if a NIC's own link has failed, frames still reach that
// switch and are dropped there.
//
// Not thread-safe: use one object per thread.
class Routes {
 public:
  explicit Routes(const Fabric& fabric);  // the fabric must outlive it

  // Sets the failed links and discards computed routes. The vector is indexed by LinkIndex; links
  // beyond its end have not failed.
  void SetFailed(std::vector<bool> failed_links);
  bool Failed(LinkIndex link) const { return link < failed_.size() && failed_[link]; }

  // Returns the ports of switch `at` for frames to `destination`, sorted by number; one port for
  // the last hop. Empty if there is no path. Valid until SetFailed.
  std::span<const PortIndex> NextHops(NodeIndex at, NicIndex destination);

  // Returns the switch that a NIC is connected to; kNone if there is none.
  NodeIndex EdgeOf(NicIndex nic) const { return edge_of_[nic]; }

  // Returns the number of hops from `at` to the edge switch of `destination`: 0 at that switch,
  // kNone if there is no path.
  uint32_t Distance(NodeIndex at, NicIndex destination);

  const Fabric& fabric() const { return fabric_; }

 private:
  // Routes towards one edge switch, indexed by the forwarding node.
  struct Table {
    std::vector<uint32_t> first;  // node i: ports[first[i]] to ports[first[i + 1] - 1]
    std::vector<PortIndex> ports;
    std::vector<uint32_t> distance;
  };
  // A link to another switch.
  struct Neighbour {
    PortIndex port = kNone;
    NodeIndex node = kNone;
    LinkIndex link = kNone;
  };

  const Table& TableTo(NodeIndex edge);
  Table Compute(NodeIndex edge) const;
  std::span<const Neighbour> UpFrom(NodeIndex node) const;
  std::span<const Neighbour> DownFrom(NodeIndex node) const;
  uint32_t Nearest(std::span<const Neighbour> ways, const std::vector<uint32_t>& distance) const;

  const Fabric& fabric_;
  std::vector<bool> failed_;
  std::vector<NodeIndex> edge_of_;              // indexed by NIC
  std::vector<PortIndex> last_hop_;             // by NIC: port of its edge switch
  std::vector<NodeIndex> upwards_;              // switches, lower tiers first
  std::vector<Neighbour> neighbours_;           // of node i: up, then down, sorted by port number
  std::vector<uint32_t> first_up_;              // by node: index in neighbours_
  std::vector<uint32_t> first_down_;            // by node: index in neighbours_
  std::vector<std::unique_ptr<Table>> tables_;  // indexed by edge switch
};

}  // namespace rocescope::topology
