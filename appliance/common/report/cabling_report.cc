// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/api/message_value.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

v1::CableFinding::Kind KindOf(CableFindingKind kind) {
  switch (kind) {
    case CableFindingKind::kSwapped:
      return v1::CableFinding::KIND_SWAPPED;
    case CableFindingKind::kMissing:
      return v1::CableFinding::KIND_MISSING;
    case CableFindingKind::kUnexpected:
      return v1::CableFinding::KIND_UNEXPECTED;
    case CableFindingKind::kDisagrees:
      break;
  }
  return v1::CableFinding::KIND_DISAGREES;
}

void FillFinding(const topology::Fabric& fabric, const CableFinding& finding,
                 v1::CableFinding& out) {
  out.set_kind(KindOf(finding.kind));
  for (const topology::LinkIndex link : finding.declared) {
    out.add_declared_links(fabric.NameOfLink(link));
  }
  for (const auto& [a, b] : finding.real) {
    v1::Cable& cable = *out.add_actual_cables();
    cable.set_a(fabric.NameOf(a));
    cable.set_b(fabric.NameOf(b));
    cable.set_b_declared(fabric.NameOf(fabric.Peer(a)));
  }
  if (finding.receiver != topology::kNone) out.set_receiver(fabric.NameOf(finding.receiver));
  if (finding.sender != topology::kNone) out.set_sender(fabric.node(finding.sender).name);
  out.set_place(finding.place);
  out.set_confidence(finding.confidence);
  out.set_unexplained_flow_count(finding.flows);
  out.set_agreeing_flow_count(finding.flows_against);
  out.set_packets(finding.packets);
  out.set_excess_bytes(finding.bytes);
  out.set_reading_count(finding.readings);
  out.set_state_differs(finding.state_differs);
  if (finding.since != Timestamp()) {
    *out.mutable_first_seen_time() = TimestampMessage(finding.since);
  }
}

}  // namespace

void FillCabling(const Snapshot& snapshot, v1::ReplayReport& report) {
  if (!snapshot.fabric || !snapshot.cabling) return;
  v1::Cabling& out = *report.mutable_cabling();
  out.set_link_count(snapshot.cabling->links);
  out.set_confirmed_link_count(snapshot.cabling->confirmed);
  out.set_contradicted_link_count(snapshot.cabling->contradicted);
  for (const CableFinding& finding : snapshot.cabling->findings) {
    FillFinding(*snapshot.fabric, finding, *out.add_findings());
  }
}

}  // namespace rocescope
