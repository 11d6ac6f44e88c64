// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

v1::PathInterval::State StateOf(PathState state) {
  switch (state) {
    case PathState::kExact:
      return v1::PathInterval::STATE_EXACT;
    case PathState::kLikely:
      return v1::PathInterval::STATE_LIKELY;
    case PathState::kAmbiguous:
      return v1::PathInterval::STATE_AMBIGUOUS;
    case PathState::kSpread:
      return v1::PathInterval::STATE_SPREAD;
    case PathState::kStray:
      return v1::PathInterval::STATE_STRAY;
    case PathState::kUnknown:
      break;
  }
  return v1::PathInterval::STATE_UNKNOWN;
}

std::string_view NameOf(PathChange change) {
  switch (change) {
    case PathChange::kFirstSeen:
      return "first_seen";
    case PathChange::kRerouted:
      return "rerouted";
    case PathChange::kNewSourcePort:
      return "new_source_port";
    case PathChange::kNewOwner:
      break;
  }
  return "new_owner";
}

std::string_view NameOf(PathReason reason) {
  switch (reason) {
    case PathReason::kSwitchDown:
      return "switch_down";
    case PathReason::kLinkDown:
      return "link_down";
    case PathReason::kLinkUp:
      return "link_up";
    case PathReason::kRehashed:
      return "rehashed";
    case PathReason::kLinkSilent:
      return "link_silent";
    case PathReason::kNewSourcePort:
      return "new_source_port";
    case PathReason::kUnknown:
      break;
  }
  return "unknown";
}

void FillReason(const topology::Fabric& fabric, const PathInterval& stretch,
                v1::PathInterval& out) {
  if (stretch.began == PathChange::kFirstSeen || stretch.began == PathChange::kNewOwner) return;
  out.set_reason(std::string(NameOf(stretch.reason)));
  if (stretch.reason_node != topology::kNone) {
    out.set_reason_place(fabric.node(stretch.reason_node).name);
  } else if (stretch.reason_link != topology::kNone) {
    out.set_reason_place(fabric.NameOfLink(stretch.reason_link));
  }
  out.set_reason_ns(ToNanoseconds(stretch.reason_time));
}

constexpr std::array<std::pair<PathSource, std::string_view>, 3> kSources = {
    {{kFromMirror, "mirror"}, {kFromInt, "int"}, {kFromSflow, "sflow"}}};

std::string NicName(const topology::Fabric& fabric, topology::NicIndex index) {
  if (index == topology::kNone) return "";
  const topology::Nic& nic = fabric.nic(index);
  return fmt::format("{}:{}", fabric.node(nic.host).name, nic.device);
}

void FillStretch(const topology::Fabric& fabric, const PathInterval& stretch,
                 v1::PathInterval& out) {
  out.set_from_ns(ToNanoseconds(stretch.from));
  out.set_until_ns(ToNanoseconds(stretch.until));
  out.set_began(std::string(NameOf(stretch.began)));
  out.set_state(StateOf(stretch.state));
  out.set_probability(stretch.probability);
  for (const topology::PortIndex port : stretch.path.hops()) out.add_ports(fabric.NameOf(port));
  out.set_candidates(stretch.candidates);
  for (const topology::PortIndex port : stretch.certain) {
    out.add_certain_ports(fabric.NameOf(port));
  }
  for (const PathShare& share : stretch.shares) {
    v1::PortShare& one = *out.add_shares();
    one.set_port(fabric.NameOf(share.port));
    one.set_share(share.share);
  }
  for (const auto& [source, name] : kSources) {
    if ((stretch.sources & source) != 0) out.add_sources(std::string(name));
  }
  FillReason(fabric, stretch, out);
  out.set_packets(stretch.packets);
  out.set_bytes(stretch.bytes);
}

}  // namespace

void FillPath(const topology::Fabric& fabric, const FlowPath& path, v1::FlowPath& out) {
  out.set_segment(path.flow.segment);
  out.set_source(ToString(path.flow.source));
  out.set_destination(ToString(path.flow.destination));
  out.set_destination_qpn(path.flow.destination_qpn.value);
  out.set_source_nic(NicName(fabric, path.source));
  out.set_destination_nic(NicName(fabric, path.destination));
  for (const PathInterval& stretch : path.intervals) {
    FillStretch(fabric, stretch, *out.add_intervals());
  }
}

void FillPaths(const Snapshot& snapshot, v1::ReplayReport& report) {
  if (!snapshot.fabric) return;
  for (const FlowPath& path : *snapshot.paths) {
    FillPath(*snapshot.fabric, path, *report.add_paths());
  }
}

}  // namespace rocescope
