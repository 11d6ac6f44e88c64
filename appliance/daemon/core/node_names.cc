// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/node_names.h"

#include "analytics/job/host_name.h"

namespace rocescope {

using topology::NodeIndex;

NodeNames::NodeNames(const topology::Fabric& fabric) : fabric_(&fabric) {
  for (NodeIndex i = 0; i < fabric.nodes().size(); ++i) {
    nodes_[HostKey(fabric.node(i).name)].push_back(i);
  }
}

std::vector<NodeIndex> NodeNames::Find(std::string_view host) const {
  const auto same_key = nodes_.find(HostKey(host));
  if (same_key == nodes_.end()) return {};
  std::vector<NodeIndex> found = same_key->second;
  std::erase_if(found, [&](NodeIndex i) { return !SameHost(fabric_->node(i).name, host); });
  return found;
}

}  // namespace rocescope
