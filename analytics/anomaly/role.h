// SPDX-License-Identifier: BSD-3-Clause
// Who is like whom: entities of one role are each other's peers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "analytics/metric/entity.h"
#include "topology/fabric.h"

namespace rocescope {

struct Role {
  EntityKind kind = EntityKind::kPort;
  uint8_t priority = CounterEntity::kAllPriorities;
  topology::Tier tier = topology::Tier::kHost;    // of its node
  topology::Tier facing = topology::Tier::kHost;  // of the node at the other end of a port's link
  bool linked = false;                            // `facing` counts
  bool all_gpus = false;

  friend auto operator<=>(const Role&, const Role&) = default;
};

Role RoleOf(const topology::Fabric& fabric, const Entity& entity);

// "leaf ports to spine, priority 3", "NICs".
std::string NameOf(const Role& role);

}  // namespace rocescope
