// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/forgeable.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analytics/diagnosis/detectors.h"

namespace rocescope {
namespace {

using topology::PortIndex;

constexpr std::string_view kNote =
    "only sFlow or INT shows this, and others can forge their datagrams: look at the switch before "
    "you act";

EvidenceSource EvidenceOf(std::string_view detector) {
  const auto row = std::ranges::find(kDetectors, detector, &Detector::name);
  return row == kDetectors.end() ? EvidenceSource::kOther : row->evidence;
}

std::vector<PortIndex> PortsOf(const topology::Fabric& fabric, const Place& place) {
  switch (place.kind) {
    case PlaceKind::kLink:
      return {fabric.link(place.index).ends[0], fabric.link(place.index).ends[1]};
    case PlaceKind::kNic: {
      const PortIndex port = fabric.nic(place.index).port;
      const topology::LinkIndex link = fabric.port(port).link;
      if (link == topology::kNone) return {port};
      return {port, fabric.link(link).Opposite(port)};
    }
    case PlaceKind::kSwitch: {
      std::vector<PortIndex> ports;
      const topology::Node& node = fabric.node(place.index);
      for (uint32_t i = 0; i < node.port_count; ++i) ports.push_back(node.first_port + i);
      return ports;
    }
    case PlaceKind::kGpu:
      break;
  }
  return {};
}

// Whether all counters of these ports come from sFlow.
bool AreAllFromAgents(const DiagnosisInput& input, const std::vector<PortIndex>& ports) {
  bool is_any = false;
  for (const PortIndex port : ports) {
    const auto at = input.parts().metrics.entities().find(input.EntityOf(port));
    if (at == input.parts().metrics.entities().end()) continue;
    for (const auto& [metric, series] : at->second.series) {
      if (!series.is_by_agent()) return false;
      is_any = true;
    }
  }
  return is_any;
}

}  // namespace

bool IsForgeable(const DiagnosisInput& input, const Finding& finding) {
  switch (EvidenceOf(finding.detector)) {
    case EvidenceSource::kSwitchCounters:
      return AreAllFromAgents(input, PortsOf(input.fabric(), finding.place));
    case EvidenceSource::kPaths:
      return input.parts().flows.empty();
    case EvidenceSource::kOther:
      break;
  }
  return false;
}

void LimitForgeable(const DiagnosisInput& input, Findings& findings) {
  for (Finding& finding : findings) {
    if (!IsForgeable(input, finding)) continue;
    finding.confidence = std::min(finding.confidence, kForgeable);
    if (std::ranges::find(finding.evidence, kNote) == finding.evidence.end()) {
      finding.evidence.emplace_back(kNote);
    }
  }
}

}  // namespace rocescope
