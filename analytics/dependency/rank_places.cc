// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/rank_places.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analytics/job/host_name.h"

namespace rocescope {

using topology::GpuIndex;
using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;

RankPlaces::RankPlaces(const topology::Fabric& fabric) : fabric_(fabric) {
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) hosts_[HostKey(fabric.node(node).name)].push_back(node);
  }
}

NodeIndex RankPlaces::HostOf(const JobRank& rank) const {
  std::vector<NodeIndex> named;
  if (const auto at = hosts_.find(HostKey(rank.host)); at != hosts_.end()) {
    std::ranges::copy_if(at->second, std::back_inserter(named), [&](NodeIndex node) {
      return SameHost(fabric_.node(node).name, rank.host);
    });
  }
  if (named.size() == 1) return named[0];
  for (const IpAddress& address : rank.addresses) {
    const NicIndex nic = fabric_.FindNic({.address = address});
    if (nic == kNone) continue;
    const NodeIndex host = fabric_.nic(nic).host;
    if (named.empty() || std::ranges::find(named, host) != named.end()) return host;
  }
  return kNone;
}

// GPU numbers within a container differ from the host's; PCI addresses do not.
GpuIndex RankPlaces::GpuOf(const JobRank& rank, NodeIndex host) const {
  for (const GpuIndex gpu : fabric_.GpusOf(host)) {
    if (!rank.gpu_bus_id.empty() && fabric_.gpu(gpu).pci == rank.gpu_bus_id) return gpu;
  }
  for (const GpuIndex gpu : fabric_.GpusOf(host)) {
    const bool no_pci = rank.gpu_bus_id.empty() || fabric_.gpu(gpu).pci.empty();
    if (no_pci && std::cmp_equal(fabric_.gpu(gpu).number, rank.nvml_device)) return gpu;
  }
  return kNone;
}

std::vector<NicIndex> RankPlaces::NicsOf(const JobRank& rank, NodeIndex host) const {
  std::vector<NicIndex> nics;
  for (const IpAddress& address : rank.addresses) {
    // Tenants reuse addresses: the address may belong to another host.
    const NicIndex nic = fabric_.FindNic({.address = address});
    if (nic != kNone && fabric_.nic(nic).host == host) nics.push_back(nic);
  }
  for (const NicPort& port : rank.ports) {
    const NicIndex nic = fabric_.FindNicByDevice(host, port.device);
    if (nic != kNone) nics.push_back(nic);
  }
  std::ranges::sort(nics);
  const auto doubles = std::ranges::unique(nics);
  nics.erase(doubles.begin(), doubles.end());
  return nics;
}

}  // namespace rocescope
