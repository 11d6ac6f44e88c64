// SPDX-License-Identifier: BSD-3-Clause
// The owner of a metric, identified by topology indices.
#pragma once

#include <compare>
#include <cstdint>

#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

struct Entity {
  EntityKind kind = EntityKind::kPort;
  // PortIndex of a switch port, NicIndex, GpuIndex, or NodeIndex of a host, depending on `kind`.
  uint32_t index = topology::kNone;
  uint8_t priority = CounterEntity::kAllPriorities;  // priority of a port or NIC
  bool all_gpus = false;  // a sum over all GPUs of a host: `index` is the host's

  friend auto operator<=>(const Entity&, const Entity&) = default;
};

}  // namespace rocescope
