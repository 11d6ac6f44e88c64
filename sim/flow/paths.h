// SPDX-License-Identifier: BSD-3-Clause
// The paths of queue pairs. Equal paths have the same number. The paths of recent states of the
// routes are cached, so that they are not computed again when a link goes down and up repeatedly.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/host/network.h"
#include "topology/fabric.h"

namespace rocescope::sim {

class Paths {
 public:
  explicit Paths(Network& network) : network_(network) { SetRoutes({}, {}); }

  // `avoided`: links that routes avoid, indexed by link. `hashes_addresses`: switches whose ECMP
  // ignores UDP ports, indexed by node. Empty: none.
  void SetRoutes(std::vector<bool> avoided, std::vector<bool> hashes_addresses);
  // The number of the present state of the routes. The same routes have the same number.
  uint32_t routes() const { return current_; }

  // The number of the present path of a queue pair.
  uint32_t Of(uint32_t queue_pair);
  // The egress ports of a path: that of the NIC, then those of switches. If there is no path, only
  // that of the NIC. Valid as long as this object.
  std::span<const topology::PortIndex> ports(uint32_t path) const { return paths_[path]; }

 private:
  Network& network_;
  std::deque<std::vector<topology::PortIndex>> paths_;
  std::map<std::vector<topology::PortIndex>, uint32_t> numbers_;
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, uint32_t> states_;
  // The number of the path of each queue pair, by state of the routes; kNone: not computed yet.
  std::map<uint32_t, std::vector<uint32_t>> known_;
  uint32_t current_ = 0;
};

}  // namespace rocescope::sim
