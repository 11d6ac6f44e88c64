// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/culprit_report.h"

#include "rocescope/v1/report.pb.h"

namespace rocescope {

FlowSenders::FlowSenders(const Snapshot& snapshot)
    : snapshot_(snapshot), owners_(*snapshot.connections, *snapshot.attribution) {}

void FlowSenders::Fill(const FlowKey& flow, v1::Culprit& out) const {
  out.set_source(ToString(flow.source));
  out.set_destination(ToString(flow.destination));
  out.set_destination_qpn(flow.destination_qpn.value);
  const RankClaim* const owner = owners_.Find(flow);
  if (owner == nullptr) return;
  out.set_job_id(snapshot_.attribution->jobs[owner->job].job.id);
  if (owner->rank >= 0) out.set_rank(owner->rank);
}

}  // namespace rocescope
