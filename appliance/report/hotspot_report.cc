// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/culprit_report.h"
#include "appliance/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

void FillHotspots(const Snapshot& snapshot, v1::ReplayReport& report) {
  if (!snapshot.fabric || snapshot.congestion->hotspots.empty()) return;
  const FlowSenders senders(snapshot);
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
      v1::Culprit& who = *out.add_culprits();
      senders.Fill(culprit.flow, who);
      who.set_bytes(culprit.bytes);
      who.set_share(culprit.share);
    }
  }
}

}  // namespace rocescope
