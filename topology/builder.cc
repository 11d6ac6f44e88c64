// SPDX-License-Identifier: BSD-3-Clause
#include "topology/builder.h"

#include <fmt/format.h>

#include <utility>

namespace rocescope::topology {

NodeIndex Builder::AddNode(Node node) {
  node.first_port = 0;
  node.port_count = 0;
  parts_.nodes.push_back(std::move(node));
  return static_cast<NodeIndex>(parts_.nodes.size() - 1);
}

PortIndex Builder::AddPort(NodeIndex node, uint32_t number, std::string name) {
  ++parts_.nodes[node].port_count;
  parts_.ports.push_back({.node = node, .number = number, .name = std::move(name)});
  return static_cast<PortIndex>(parts_.ports.size() - 1);
}

PortIndex Builder::AddNextPort(NodeIndex node) {
  const uint32_t number = parts_.nodes[node].port_count + 1;
  return AddPort(node, number, fmt::format("Ethernet{}", number));
}

LinkIndex Builder::AddLink(PortIndex a, PortIndex b, uint64_t bits_per_second, Duration delay) {
  const auto link = static_cast<LinkIndex>(parts_.links.size());
  parts_.links.push_back({.ends = {a, b}, .bits_per_second = bits_per_second, .delay = delay});
  parts_.ports[a].link = link;
  parts_.ports[b].link = link;
  return link;
}

NicIndex Builder::AddNic(Nic nic) {
  nic.port = AddPort(nic.host, parts_.nodes[nic.host].port_count + 1, nic.device);
  parts_.nics.push_back(std::move(nic));
  return static_cast<NicIndex>(parts_.nics.size() - 1);
}

GpuIndex Builder::AddGpu(Gpu gpu) {
  parts_.gpus.push_back(std::move(gpu));
  return static_cast<GpuIndex>(parts_.gpus.size() - 1);
}

void Builder::AddTap(Tap tap) { parts_.taps.push_back(std::move(tap)); }

Fabric::Parts Builder::Build(std::vector<PortIndex>* moved_to) {
  PortIndex next = 0;
  std::vector<PortIndex> free(parts_.nodes.size());
  for (NodeIndex i = 0; i < parts_.nodes.size(); ++i) {
    parts_.nodes[i].first_port = free[i] = next;
    next += parts_.nodes[i].port_count;
  }
  std::vector<PortIndex> moved(parts_.ports.size());
  std::vector<Port> ports(parts_.ports.size());
  for (PortIndex i = 0; i < parts_.ports.size(); ++i) {
    moved[i] = free[parts_.ports[i].node]++;
    ports[moved[i]] = std::move(parts_.ports[i]);
  }
  parts_.ports = std::move(ports);
  const auto move = [&](PortIndex& port) {
    if (port < moved.size()) port = moved[port];
  };
  for (Link& link : parts_.links) {
    for (PortIndex& end : link.ends) move(end);
  }
  for (Nic& nic : parts_.nics) move(nic.port);
  for (Tap& tap : parts_.taps) {
    for (PortIndex& port : tap.ports) move(port);
  }
  if (moved_to != nullptr) *moved_to = std::move(moved);
  return std::exchange(parts_, {});
}

}  // namespace rocescope::topology
