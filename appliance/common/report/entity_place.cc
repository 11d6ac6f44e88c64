// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/entity_place.h"

#include <fmt/format.h>

namespace rocescope {

std::string PlaceOf(const topology::Fabric& fabric, const Entity& entity) {
  switch (entity.kind) {
    case EntityKind::kPort:
      return fabric.NameOf(entity.index);
    case EntityKind::kNic: {
      const topology::Nic& nic = fabric.nic(entity.index);
      return fmt::format("{}:{}", fabric.node(nic.host).name, nic.device);
    }
    case EntityKind::kGpu: {
      if (entity.all_gpus) break;
      const topology::Gpu& gpu = fabric.gpu(entity.index);
      return fmt::format("{}:gpu:{}", fabric.node(gpu.host).name, gpu.number);
    }
    case EntityKind::kHost:
    case EntityKind::kCount:
      break;
  }
  return fabric.node(entity.index).name;
}

}  // namespace rocescope
