// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/culprit_report.h"

#include "analytics/job/flow_of.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

FlowSenders::FlowSenders(const Snapshot& snapshot) : snapshot_(snapshot) {
  size_t i = 0;
  for (const Connection& connection : *snapshot.connections) {
    for (size_t end = 0; end < 2; ++end) {
      // Of several owners of a number, the last one.
      if (const auto flow = FlowFrom(end, connection)) ends_[*flow] = {i, end};
    }
    ++i;
  }
}

void FlowSenders::Fill(const FlowKey& flow, v1::Culprit& out) const {
  out.set_source(ToString(flow.source));
  out.set_destination(ToString(flow.destination));
  out.set_destination_qpn(flow.destination_qpn.value);
  out.set_rank(-1);
  const auto at = ends_.find(flow);
  if (at == ends_.end()) return;
  const Attribution& attribution = *snapshot_.attribution;
  if (at->second.connection >= attribution.endpoints.size()) return;
  const auto& claim = attribution.endpoints[at->second.connection][at->second.end];
  if (!claim) return;
  out.set_job(attribution.jobs[claim->job].job.id);
  out.set_rank(claim->rank);
}

}  // namespace rocescope
