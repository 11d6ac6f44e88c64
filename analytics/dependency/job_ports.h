// SPDX-License-Identifier: BSD-3-Clause
// Finds the job that uses a set of switch ports.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "analytics/job/attribution.h"
#include "topology/fabric.h"

namespace rocescope {

class JobPorts {
 public:
  // `fabric` must outlive this object.
  JobPorts(const topology::Fabric& fabric, const Attribution& attribution);

  // Returns the job (index in the attribution) whose NICs are connected to these ports: at least
  // 60 % of the job's ports are among them, and at least 60 % of them, without those between
  // switches, belong to the job. `ports` contains switch ports and host ports in any order.
  std::optional<size_t> JobOf(std::span<const topology::PortIndex> ports) const;

 private:
  // Returns the switch port of the link to a NIC; kNone: the link does not lead to a NIC.
  topology::PortIndex EdgePort(topology::PortIndex port) const;

  const topology::Fabric& fabric_;
  std::vector<std::vector<topology::PortIndex>> ports_;  // ascending, of each job
};

}  // namespace rocescope
