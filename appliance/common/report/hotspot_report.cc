// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>
#include <string_view>

#include "appliance/common/report/culprit_report.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string_view NameOf(HotspotSource source) {
  constexpr std::array<std::string_view, 4> kNames = {"counters", "int", "marks", "inferred"};
  return kNames[static_cast<size_t>(source)];
}

std::string_view NameOf(HotspotCause cause) {
  constexpr std::array<std::string_view, 6> kNames = {"unknown",    "held",      "incast",
                                                      "one_sender", "collision", "overload"};
  return kNames[static_cast<size_t>(cause)];
}

void FillTraffic(const Snapshot& snapshot, const FlowSenders& senders,
                 const HotspotTraffic& traffic, v1::Hotspot& out) {
  out.set_cause(std::string(NameOf(traffic.cause)));
  out.set_bytes(traffic.bytes);
  out.set_flows(traffic.flows);
  out.set_imbalance(traffic.imbalance);
  out.set_group_utilization(traffic.group_utilization);
  out.set_group_links(traffic.group_links);
  for (const Culprit& culprit : traffic.culprits) {
    v1::Culprit& who = *out.add_culprits();
    senders.Fill(culprit.flow, who);
    who.set_bytes(culprit.bytes);
    who.set_share(culprit.share);
  }
  for (const LostTime& lost : traffic.lost) {
    v1::LostTime& one = *out.add_lost();
    one.set_job(snapshot.attribution->jobs[lost.job].job.id);
    one.set_lost_ns(lost.time.count());
    for (const int rank : lost.ranks) one.add_ranks(rank);
  }
}

}  // namespace

void FillHotspots(const Snapshot& snapshot, v1::ReplayReport& report) {
  const Congestion& congestion = *snapshot.congestion;
  if (!snapshot.fabric || congestion.hotspots.empty()) return;
  const FlowSenders senders(snapshot);
  for (size_t i = 0; i < congestion.hotspots.size(); ++i) {
    const Hotspot& hotspot = congestion.hotspots[i];
    v1::Hotspot& out = *report.add_hotspots();
    out.set_port(snapshot.fabric->NameOf(hotspot.port));
    out.set_priority(hotspot.priority == CounterEntity::kAllPriorities ? -1 : hotspot.priority);
    out.set_source(std::string(NameOf(hotspot.source)));
    out.set_from_ns(ToNanoseconds(hotspot.from));
    out.set_until_ns(ToNanoseconds(hotspot.until));
    out.set_peak_bytes(hotspot.peak_bytes);
    out.set_marked(hotspot.marked);
    out.set_dropped(hotspot.dropped);
    out.set_paused_ns(hotspot.paused.count());
    FillTraffic(snapshot, senders, congestion.traffic[i], out);
  }
}

}  // namespace rocescope
