// SPDX-License-Identifier: BSD-3-Clause
// The paths of queue pairs. Equal paths have the same number, and the paths of recent states of the
// routes are remembered, so that a link that goes down and up repeatedly costs little.
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

  // Routes avoid these links (by link), and these switches (by node) hash addresses only. Empty:
  // none.
  void SetRoutes(std::vector<bool> avoided, std::vector<bool> hashes_addresses);
  // Changes with the routes; the same routes have the same number.
  uint32_t routes() const { return current_; }

  // The number of the present path of a queue pair.
  uint32_t Of(uint32_t queue_pair);
  // Egress ports: of the NIC, then of switches. Only the NIC's if there is no path. Valid as long
  // as this object.
  std::span<const topology::PortIndex> ports(uint32_t path) const { return paths_[path]; }

 private:
  Network& network_;
  std::deque<std::vector<topology::PortIndex>> paths_;
  std::map<std::vector<topology::PortIndex>, uint32_t> numbers_;
  std::map<std::pair<std::vector<bool>, std::vector<bool>>, uint32_t> states_;
  std::map<uint32_t, std::vector<uint32_t>>
      known_;  // by state: paths by queue pair; kNone: unknown
  uint32_t current_ = 0;
};

}  // namespace rocescope::sim
