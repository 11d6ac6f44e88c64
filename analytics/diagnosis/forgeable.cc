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
    "based on sFlow or INT telemetry, which is not authenticated: verify on the switch before "
    "acting";

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

bool IsState(Metric metric) {
  return metric == Metric::kLinkUp || metric == Metric::kAdminUp || metric == Metric::kLinkSpeed ||
         metric == Metric::kLinkFlaps;
}

bool IsError(Metric metric) {
  return metric == Metric::kFcsErrors || metric == Metric::kSymbolErrors ||
         metric == Metric::kRxErrors || metric == Metric::kTxErrors;
}

// Whether a finding of this kind rests on the metric. Other counters of the same port prove
// nothing.
bool IsEvidence(FaultKind kind, Metric metric) {
  switch (kind) {
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
    case FaultKind::kDegradedRate:
    case FaultKind::kSwitchCrash:
    case FaultKind::kNicCrash:
      return IsState(metric);
    case FaultKind::kBitErrors:
      return IsError(metric);
    default:
      return !IsState(metric) && !IsError(metric);
  }
}

// Whether a counter at the place that is evidence for the finding comes from sFlow. A NIC's own
// error counter, which its host reports, is enough to prove damaged frames.
bool HasEvidenceOfAgents(const DiagnosisInput& input, const Finding& finding) {
  bool is_forgeable = false;
  for (const PortIndex port : PortsOf(input.fabric(), finding.place)) {
    const Entity entity = input.EntityOf(port);
    const auto at = input.parts().metrics.entities().find(entity);
    if (at == input.parts().metrics.entities().end()) continue;
    for (const auto& [metric, series] : at->second.series) {
      if (!IsEvidence(finding.kind, metric)) continue;
      if (series.is_by_agent()) is_forgeable = true;
      if (finding.kind == FaultKind::kBitErrors && entity.kind == EntityKind::kNic &&
          finding.place.sender != port && !series.is_by_agent()) {
        return false;
      }
    }
  }
  return is_forgeable;
}

// Whether the path of a mirrored flow leads through the place.
bool IsPassedByMirroredFlows(const DiagnosisInput& input, const Place& place) {
  const std::vector<PortIndex> ports = PortsOf(input.fabric(), place);
  const FlowSummaries& flows = input.parts().flows;
  for (const FlowPath& path : input.parts().paths) {
    const bool passes = std::ranges::any_of(path.intervals, [&](const PathInterval& interval) {
      return std::ranges::any_of(interval.certain, [&](PortIndex sender) {
        return std::ranges::find(ports, sender) != ports.end() ||
               std::ranges::find(ports, input.fabric().Peer(sender)) != ports.end();
      });
    });
    if (!passes) continue;
    const auto mirrored = std::ranges::lower_bound(flows, path.flow, {}, &FlowSummary::flow);
    if (mirrored != flows.end() && (*mirrored).flow == path.flow) return true;
  }
  return false;
}

}  // namespace

bool IsForgeable(const DiagnosisInput& input, const Finding& finding) {
  switch (EvidenceOf(finding.detector)) {
    case EvidenceSource::kSwitchCounters:
      return HasEvidenceOfAgents(input, finding);
    case EvidenceSource::kPaths:
      return !IsPassedByMirroredFlows(input, finding.place);
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
