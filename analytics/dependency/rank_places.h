// SPDX-License-Identifier: BSD-3-Clause
// Where a rank runs, by the topology: hosts spell their names, and number their GPUs, in other ways
// than the fabric's description does.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analytics/job/communicator.h"
#include "topology/fabric.h"

namespace rocescope {

class RankPlaces {
 public:
  // Must outlive it.
  explicit RankPlaces(const topology::Fabric& fabric);

  // By name, and among several of them, or if it has none, by the rank's addresses. kNone: the
  // topology has no such host, or it cannot be told which.
  topology::NodeIndex HostOf(const JobRank& rank) const;
  // By PCI address; by its number where the topology or the rank has none. kNone: not known.
  topology::GpuIndex GpuOf(const JobRank& rank, topology::NodeIndex host) const;
  // Those of `host` that the rank uses; ascending.
  std::vector<topology::NicIndex> NicsOf(const JobRank& rank, topology::NodeIndex host) const;

 private:
  const topology::Fabric& fabric_;
  std::unordered_map<std::string, std::vector<topology::NodeIndex>> hosts_;  // by HostKey
};

}  // namespace rocescope
