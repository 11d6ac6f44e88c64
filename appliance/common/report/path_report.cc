// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "appliance/api/message_value.h"
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

v1::PathInterval::StartReason MessageOf(PathChange change) {
  switch (change) {
    case PathChange::kFirstSeen:
      return v1::PathInterval::START_REASON_FIRST_SEEN;
    case PathChange::kRerouted:
      return v1::PathInterval::START_REASON_REROUTED;
    case PathChange::kNewSourcePort:
      return v1::PathInterval::START_REASON_NEW_SOURCE_PORT;
    case PathChange::kNewOwner:
      break;
  }
  return v1::PathInterval::START_REASON_NEW_OWNER;
}

v1::PathInterval::ChangeCause MessageOf(PathReason reason) {
  switch (reason) {
    case PathReason::kSwitchDown:
      return v1::PathInterval::CHANGE_CAUSE_SWITCH_DOWN;
    case PathReason::kLinkDown:
      return v1::PathInterval::CHANGE_CAUSE_LINK_DOWN;
    case PathReason::kLinkUp:
      return v1::PathInterval::CHANGE_CAUSE_LINK_UP;
    case PathReason::kRehashed:
      return v1::PathInterval::CHANGE_CAUSE_REHASHED;
    case PathReason::kLinkSilent:
      return v1::PathInterval::CHANGE_CAUSE_LINK_SILENT;
    case PathReason::kNewSourcePort:
      return v1::PathInterval::CHANGE_CAUSE_NEW_SOURCE_PORT;
    case PathReason::kUnknown:
      break;
  }
  return v1::PathInterval::CHANGE_CAUSE_UNKNOWN;
}

void FillReason(const topology::Fabric& fabric, const PathInterval& stretch,
                v1::PathInterval& out) {
  if (stretch.began == PathChange::kFirstSeen || stretch.began == PathChange::kNewOwner) return;
  out.set_change_cause(MessageOf(stretch.reason));
  if (stretch.reason_node != topology::kNone) {
    out.set_change_place(fabric.node(stretch.reason_node).name);
  } else if (stretch.reason_link != topology::kNone) {
    out.set_change_place(fabric.NameOfLink(stretch.reason_link));
  }
  if (stretch.reason_time != Timestamp()) {
    *out.mutable_change_time() = TimestampMessage(stretch.reason_time);
  }
}

constexpr std::array<std::pair<PathSource, v1::PathInterval::Source>, 3> kSources = {
    {{kFromMirror, v1::PathInterval::SOURCE_MIRROR},
     {kFromInt, v1::PathInterval::SOURCE_INT},
     {kFromSflow, v1::PathInterval::SOURCE_SFLOW}}};

std::string NicName(const topology::Fabric& fabric, topology::NicIndex index) {
  if (index == topology::kNone) return "";
  const topology::Nic& nic = fabric.nic(index);
  return fmt::format("{}:{}", fabric.node(nic.host).name, nic.device);
}

void FillStretch(const topology::Fabric& fabric, const PathInterval& stretch,
                 v1::PathInterval& out) {
  *out.mutable_start_time() = TimestampMessage(stretch.from);
  *out.mutable_end_time() = TimestampMessage(stretch.until);
  out.set_start_reason(MessageOf(stretch.began));
  out.set_state(StateOf(stretch.state));
  out.set_probability(stretch.probability);
  for (const topology::PortIndex port : stretch.path.hops()) out.add_ports(fabric.NameOf(port));
  out.set_candidate_path_count(stretch.candidates);
  for (const topology::PortIndex port : stretch.certain) {
    out.add_certain_ports(fabric.NameOf(port));
  }
  for (const PathShare& share : stretch.shares) {
    v1::PortShare& one = *out.add_shares();
    one.set_port(fabric.NameOf(share.port));
    one.set_share(share.share);
  }
  for (const auto& [source, message] : kSources) {
    if ((stretch.sources & source) != 0) out.add_sources(message);
  }
  FillReason(fabric, stretch, out);
  out.set_packets(stretch.packets);
  out.set_bytes(stretch.bytes);
}

}  // namespace

void FillPath(const topology::Fabric& fabric, const FlowPath& path, v1::FlowPath& out) {
  if (path.flow.segment != 0) out.set_vni(path.flow.segment - 1);
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
