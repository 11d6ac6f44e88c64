// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/role.h"

#include <fmt/format.h>

namespace rocescope {

Role RoleOf(const topology::Fabric& fabric, const Entity& entity) {
  Role role{.kind = entity.kind, .priority = entity.priority, .all_gpus = entity.all_gpus};
  if (entity.kind != EntityKind::kPort) return role;
  const topology::NodeIndex opposite = fabric.PeerNode(entity.index);
  role.tier = fabric.node(fabric.port(entity.index).node).tier;
  role.linked = opposite != topology::kNone;
  if (role.linked) role.facing = fabric.node(opposite).tier;
  return role;
}

std::string NameOf(const Role& role) {
  std::string name;
  switch (role.kind) {
    case EntityKind::kPort:
      name = fmt::format(
          "{} ports {}", topology::NameOf(role.tier),
          role.linked ? fmt::format("to {}", topology::NameOf(role.facing)) : "without a link");
      break;
    case EntityKind::kNic:
      name = "NICs";
      break;
    case EntityKind::kGpu:
      name = role.all_gpus ? "all GPUs of a host" : "GPUs";
      break;
    case EntityKind::kHost:
      name = "hosts";
      break;
    case EntityKind::kCount:
      break;
  }
  if (role.priority == CounterEntity::kAllPriorities) return name;
  return fmt::format("{}, priority {}", name, role.priority);
}

}  // namespace rocescope
