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

uint8_t ForgeableOf(std::string_view detector) {
  const Detector* const row = FindDetector(detector);
  return row == nullptr ? uint8_t{kNothing} : row->forgeable;
}

std::vector<PortIndex> PortsOfNode(const topology::Fabric& fabric, topology::NodeIndex index) {
  std::vector<PortIndex> ports;
  const topology::Node& node = fabric.node(index);
  for (uint32_t i = 0; i < node.port_count; ++i) ports.push_back(node.first_port + i);
  return ports;
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
    case PlaceKind::kSwitch:
      return PortsOfNode(fabric, place.index);
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

// Whether a metric of the port that is evidence comes from an sFlow agent, or from elsewhere.
bool HasEvidence(const DiagnosisInput& input, PortIndex port, bool by_agent, auto is_evidence) {
  const auto at = input.parts().metrics.entities().find(input.EntityOf(port));
  if (at == input.parts().metrics.entities().end()) return false;
  return std::ranges::any_of(at->second.series, [&](const auto& row) {
    return row.second.is_by_agent() == by_agent && is_evidence(row.first);
  });
}

// Whether the NIC that received the frames reports errors over a connection that nobody can forge:
// enough to prove damaged frames.
bool IsProvenByNic(const DiagnosisInput& input, const Finding& finding, PortIndex port) {
  return finding.kind == FaultKind::kBitErrors && input.EntityOf(port).kind == EntityKind::kNic &&
         finding.place.sender != port && HasEvidence(input, port, false, IsError);
}

// Whether a counter that is evidence for the finding comes from sFlow. The neighbours of a switch
// report that it crashed.
bool HasCountersOfAgents(const DiagnosisInput& input, const Finding& finding) {
  std::vector<PortIndex> ports = PortsOf(input.fabric(), finding.place);
  if (std::ranges::any_of(ports, [&](PortIndex p) { return IsProvenByNic(input, finding, p); })) {
    return false;
  }
  if (finding.kind == FaultKind::kSwitchCrash) {
    for (size_t i = ports.size(); i-- > 0;) {
      const PortIndex peer = input.fabric().Peer(ports[i]);
      if (peer != topology::kNone) ports.push_back(peer);
    }
  }
  return std::ranges::any_of(ports, [&](PortIndex port) {
    return HasEvidence(input, port, true,
                       [&](Metric one) { return IsEvidence(finding.kind, one); });
  });
}

// Whether queue watermarks of the switches at the place come from sFlow. A forged empty queue would
// make an ordinary delay look like a fault.
bool HasWatermarksOfAgents(const DiagnosisInput& input, const Finding& finding) {
  const auto is_watermark = [](Metric one) {
    return one == Metric::kQueueWatermark || one == Metric::kBufferWatermark ||
           one == Metric::kQueueBytes;
  };
  return std::ranges::any_of(PortsOf(input.fabric(), finding.place), [&](PortIndex at_place) {
    return std::ranges::any_of(
        PortsOfNode(input.fabric(), input.fabric().port(at_place).node),
        [&](PortIndex port) { return HasEvidence(input, port, true, is_watermark); });
  });
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
  const uint8_t parts = ForgeableOf(finding.detector);
  const auto uses = [&](Forgeable part) { return (parts & part) != 0; };
  if (uses(kIntReports) && finding.is_by_int) return true;
  if (uses(kCounters) && HasCountersOfAgents(input, finding)) return true;
  if (uses(kQueueWatermarks) && HasWatermarksOfAgents(input, finding)) return true;
  if (uses(kNicCounters) && finding.place.kind == PlaceKind::kNic &&
      HasEvidence(input, input.fabric().nic(finding.place.index).port, true,
                  [](Metric) { return true; })) {
    return true;
  }
  return uses(kPaths) && !IsPassedByMirroredFlows(input, finding.place);
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
