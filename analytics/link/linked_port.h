// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "analytics/metric/entity.h"
#include "topology/fabric.h"

namespace rocescope {

// The port that an entity's counters of all priorities are about, if it has a link; otherwise
// kNone.
inline topology::PortIndex LinkedPortOf(const topology::Fabric& fabric, const Entity& entity) {
  if (entity.priority != CounterEntity::kAllPriorities) return topology::kNone;
  if (entity.kind != EntityKind::kPort && entity.kind != EntityKind::kNic) return topology::kNone;
  const topology::PortIndex port =
      entity.kind == EntityKind::kNic ? fabric.nic(entity.index).port : entity.index;
  const bool has_link = port != topology::kNone && fabric.port(port).link != topology::kNone;
  return has_link ? port : topology::kNone;
}

}  // namespace rocescope
