// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/finding.h"

#include <fmt/format.h>

#include <algorithm>

namespace rocescope {

std::string NameOf(const topology::Fabric& fabric, const Place& place) {
  switch (place.kind) {
    case PlaceKind::kLink:
      return fabric.NameOfLink(place.index);
    case PlaceKind::kSwitch:
      return fabric.node(place.index).name;
    case PlaceKind::kNic: {
      const topology::Nic& nic = fabric.nic(place.index);
      return fmt::format("{}:{}", fabric.node(nic.host).name, nic.device);
    }
    case PlaceKind::kGpu: {
      const topology::Gpu& gpu = fabric.gpu(place.index);
      return fmt::format("{}:gpu:{}", fabric.node(gpu.host).name, gpu.number);
    }
  }
  return {};
}

void Contradict(Finding& finding, std::string_view reason) {
  finding.confidence = std::min(finding.confidence, kContradicted);
  finding.is_contradicted = true;
  finding.evidence.front() += reason;
}

}  // namespace rocescope
