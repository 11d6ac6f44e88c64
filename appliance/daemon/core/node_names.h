// SPDX-License-Identifier: BSD-3-Clause
// Index of the nodes of a topology by the names that agents and schedulers use.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/fabric.h"

namespace rocescope {

class NodeNames {
 public:
  NodeNames() = default;
  explicit NodeNames(const topology::Fabric& fabric);

  // Returns the nodes that `host` can denote (SameHost), ascending.
  std::vector<topology::NodeIndex> Find(std::string_view host) const;

 private:
  const topology::Fabric* fabric_ = nullptr;                                 // null: no topology
  std::unordered_map<std::string, std::vector<topology::NodeIndex>> nodes_;  // key: HostKey
};

}  // namespace rocescope
