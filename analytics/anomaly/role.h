// SPDX-License-Identifier: BSD-3-Clause
// Roles: entities of the same role are peers of each other.
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
  topology::Tier tier = topology::Tier::kHost;  // tier of the entity's node
  // Tier of the node at the other end of a port's link.
  topology::Tier facing = topology::Tier::kHost;
  bool linked = false;  // whether `facing` is valid
  bool all_gpus = false;

  friend auto operator<=>(const Role&, const Role&) = default;
};

Role RoleOf(const topology::Fabric& fabric, const Entity& entity);

// For example "leaf ports to spine, priority 3" or "NICs".
std::string NameOf(const Role& role);

}  // namespace rocescope
