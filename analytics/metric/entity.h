// SPDX-License-Identifier: BSD-3-Clause
// Whose a metric is, under the topology's numbers.
#pragma once

#include <compare>
#include <cstdint>

#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

struct Entity {
  EntityKind kind = EntityKind::kPort;
  // Of a switch's port, a NIC, a GPU, a host: PortIndex, NicIndex, GpuIndex, NodeIndex.
  uint32_t index = topology::kNone;
  uint8_t priority = CounterEntity::kAllPriorities;  // of a port or NIC
  bool all_gpus = false;                             // of a host, in one sum: `index` is the host's

  friend auto operator<=>(const Entity&, const Entity&) = default;
};

}  // namespace rocescope
