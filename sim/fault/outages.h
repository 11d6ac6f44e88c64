// SPDX-License-Identifier: BSD-3-Clause
// Links, switches and NICs that are down or drained. Several faults and planned maintenance may
// take the same element down at the same time: it is up again when the last of them ends.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host/network.h"

namespace rocescope::sim {

class Outages {
 public:
  // `reroute_delay`: from a change of a link's state until routes avoid it or use it again.
  Outages(Network& network, SimTime reroute_delay);

  // Both ends notice at once that the link goes down.
  void LinkDown(topology::LinkIndex link, bool down);
  // With all of its links.
  void SwitchDown(topology::NodeIndex node, bool down);
  void NicDown(topology::NicIndex nic, bool down);
  // Routes avoid the link at once, although it is up.
  void Drain(topology::LinkIndex link, bool drained);

  std::vector<topology::LinkIndex> LinksOf(topology::NodeIndex node) const;
  // Whether the link is down for exactly one reason: if it ended, the link would be up.
  bool HasOneReason(topology::LinkIndex link) const { return links_down_[link] == 1; }

 private:
  // Returns true if the number of reasons changes between zero and one.
  static bool Count(uint32_t& reasons, bool more);
  void SetLink(topology::LinkIndex link, bool down);
  void ChangeRoutes();
  void Reroute();

  Network& network_;
  const SimTime reroute_delay_;
  // Numbers of reasons.
  std::vector<uint32_t> links_down_;
  std::vector<uint32_t> links_drained_;
  std::vector<uint32_t> nodes_down_;
  std::vector<uint32_t> nics_down_;
};

}  // namespace rocescope::sim
