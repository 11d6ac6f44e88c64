// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/job_ports.h"

#include <algorithm>
#include <iterator>

#include "analytics/dependency/rank_places.h"

namespace rocescope {
namespace {

void SortUnique(std::vector<topology::PortIndex>& ports) {
  std::ranges::sort(ports);
  const auto rest = std::ranges::unique(ports);
  ports.erase(rest.begin(), rest.end());
}

}  // namespace

JobPorts::JobPorts(const topology::Fabric& fabric, const Attribution& attribution)
    : fabric_(fabric) {
  const RankPlaces places(fabric);
  for (const AttributedJob& job : attribution.jobs) {
    std::vector<topology::PortIndex>& ports = ports_.emplace_back();
    for (const JobRank& rank : job.job.ranks) {
      const topology::NodeIndex host = places.HostOf(rank);
      if (host == topology::kNone) continue;
      for (const topology::NicIndex nic : places.NicsOf(rank, host)) {
        const topology::PortIndex port = EdgePort(fabric.nic(nic).port);
        if (port != topology::kNone) ports.push_back(port);
      }
    }
    SortUnique(ports);
  }
}

topology::PortIndex JobPorts::EdgePort(topology::PortIndex port) const {
  const topology::PortIndex peer = fabric_.Peer(port);
  if (peer == topology::kNone) return topology::kNone;
  if (fabric_.NicOf(port) != topology::kNone) return peer;
  return fabric_.NicOf(peer) != topology::kNone ? port : topology::kNone;
}

std::optional<size_t> JobPorts::JobOf(std::span<const topology::PortIndex> ports) const {
  constexpr double kMost = 0.6;
  std::vector<topology::PortIndex> edge;
  for (const topology::PortIndex port : ports) {
    const topology::PortIndex one = EdgePort(port);
    if (one != topology::kNone) edge.push_back(one);
  }
  SortUnique(edge);
  std::optional<size_t> best;
  size_t best_common = 0;
  for (size_t job = 0; job < ports_.size(); ++job) {
    std::vector<topology::PortIndex> common;
    std::ranges::set_intersection(ports_[job], edge, std::back_inserter(common));
    const double needed = kMost * static_cast<double>(std::max(ports_[job].size(), edge.size()));
    if (common.size() <= best_common || static_cast<double>(common.size()) < needed) continue;
    best = job;
    best_common = common.size();
  }
  return best;
}

}  // namespace rocescope
