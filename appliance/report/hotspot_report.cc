// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <utility>

#include "appliance/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Who sends a flow, by connection and end.
using Senders = std::map<FlowKey, std::pair<size_t, size_t>>;

Senders SendersIn(const Snapshot& snapshot) {
  Senders senders;
  const ConnectionList& connections = *snapshot.connections;
  for (size_t i = 0; i < connections.size(); ++i) {
    for (size_t end = 0; end < 2; ++end) {
      const ConnectionEndpoint& from = connections[i].endpoints[end];
      const ConnectionEndpoint& to = connections[i].endpoints[1 - end];
      if (!to.qpn) continue;
      senders[{.source = from.address,
               .destination = to.address,
               .destination_qpn = *to.qpn,
               .segment = to.segment}] = {i, end};
    }
  }
  return senders;
}

void FillCulprit(const Snapshot& snapshot, const Senders& senders, const Culprit& culprit,
                 v1::Culprit& out) {
  out.set_source(ToString(culprit.flow.source));
  out.set_destination(ToString(culprit.flow.destination));
  out.set_destination_qpn(culprit.flow.destination_qpn.value);
  out.set_bytes(culprit.bytes);
  out.set_share(culprit.share);
  out.set_rank(-1);
  const auto sender = senders.find(culprit.flow);
  if (sender == senders.end()) return;
  const auto& [connection, end] = sender->second;
  if (connection >= snapshot.attribution->endpoints.size()) return;
  const auto& claim = snapshot.attribution->endpoints[connection][end];
  if (!claim) return;
  out.set_job(snapshot.attribution->jobs[claim->job].job.id);
  out.set_rank(claim->rank);
}

}  // namespace

void FillHotspots(const Snapshot& snapshot, v1::ReplayReport& report) {
  if (!snapshot.fabric || snapshot.congestion->hotspots.empty()) return;
  const Senders senders = SendersIn(snapshot);
  for (size_t i = 0; i < snapshot.congestion->hotspots.size(); ++i) {
    const Hotspot& hotspot = snapshot.congestion->hotspots[i];
    v1::Hotspot& out = *report.add_hotspots();
    out.set_port(snapshot.fabric->NameOf(hotspot.port));
    out.set_priority(hotspot.priority == CounterEntity::kAllPriorities ? -1 : hotspot.priority);
    out.set_from_ns(ToNanoseconds(hotspot.from));
    out.set_until_ns(ToNanoseconds(hotspot.until));
    out.set_peak_bytes(hotspot.peak_bytes);
    out.set_marked(hotspot.marked);
    out.set_dropped(hotspot.dropped);
    out.set_paused_ns(hotspot.paused.count());
    for (const Culprit& culprit : snapshot.congestion->culprits[i]) {
      FillCulprit(snapshot, senders, culprit, *out.add_culprits());
    }
  }
}

}  // namespace rocescope
