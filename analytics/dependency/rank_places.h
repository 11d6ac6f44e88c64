// SPDX-License-Identifier: BSD-3-Clause
// Maps a rank to its location in the topology. Hosts may spell their names and number their GPUs
// differently from the topology file.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analytics/job/communicator.h"
#include "topology/fabric.h"

namespace rocescope {

class RankPlaces {
 public:
  // `fabric` must outlive this object.
  explicit RankPlaces(const topology::Fabric& fabric);

  // Matches by name and, if the name is missing or matches several hosts, by the rank's addresses.
  // kNone: the topology has no such host, or the match is ambiguous.
  topology::NodeIndex HostOf(const JobRank& rank) const;
  // Matches by PCI address, or by number if the topology or the rank has no PCI address. kNone:
  // unknown.
  topology::GpuIndex GpuOf(const JobRank& rank, topology::NodeIndex host) const;
  // Returns the NICs of `host` that the rank uses, ascending.
  std::vector<topology::NicIndex> NicsOf(const JobRank& rank, topology::NodeIndex host) const;

 private:
  const topology::Fabric& fabric_;
  std::unordered_map<std::string, std::vector<topology::NodeIndex>> hosts_;  // indexed by HostKey
};

}  // namespace rocescope
