// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <string>
#include <string_view>

#include "appliance/api/message_value.h"
#include "appliance/common/report/culprit_report.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

v1::Hotspot::Source MessageOf(HotspotSource source) {
  switch (source) {
    case HotspotSource::kCounters:
      return v1::Hotspot::SOURCE_COUNTERS;
    case HotspotSource::kInt:
      return v1::Hotspot::SOURCE_INT;
    case HotspotSource::kMarks:
      return v1::Hotspot::SOURCE_CE_MARKS;
    case HotspotSource::kInferred:
      return v1::Hotspot::SOURCE_INFERRED;
  }
  return v1::Hotspot::SOURCE_UNSPECIFIED;
}

v1::Hotspot::Cause MessageOf(HotspotCause cause) {
  switch (cause) {
    case HotspotCause::kUnknown:
      return v1::Hotspot::CAUSE_UNKNOWN;
    case HotspotCause::kHeld:
      return v1::Hotspot::CAUSE_PAUSED;
    case HotspotCause::kIncast:
      return v1::Hotspot::CAUSE_INCAST;
    case HotspotCause::kOneSender:
      return v1::Hotspot::CAUSE_ONE_SENDER;
    case HotspotCause::kCollision:
      return v1::Hotspot::CAUSE_COLLISION;
    case HotspotCause::kOverload:
      return v1::Hotspot::CAUSE_OVERLOAD;
  }
  return v1::Hotspot::CAUSE_UNSPECIFIED;
}

void FillTraffic(const Snapshot& snapshot, const FlowSenders& senders,
                 const HotspotTraffic& traffic, v1::Hotspot& out) {
  out.set_cause(MessageOf(traffic.cause));
  out.set_bytes(traffic.bytes);
  out.set_flow_count(traffic.flows);
  if (traffic.imbalance != 0) out.set_imbalance_ratio(traffic.imbalance);
  out.set_group_utilization(traffic.group_utilization);
  out.set_group_link_count(traffic.group_links);
  for (const Culprit& culprit : traffic.culprits) {
    v1::Culprit& who = *out.add_culprits();
    senders.Fill(culprit.flow, who);
    who.set_bytes(culprit.bytes);
    who.set_share(culprit.share);
  }
  for (const LostTime& lost : traffic.lost) {
    v1::LostTime& one = *out.add_lost_times();
    one.set_job_id(snapshot.attribution->jobs[lost.job].job.id);
    *one.mutable_lost_duration() = DurationMessage(lost.time);
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
    if (hotspot.priority != CounterEntity::kAllPriorities) out.set_priority(hotspot.priority);
    out.set_source(MessageOf(hotspot.source));
    *out.mutable_start_time() = TimestampMessage(hotspot.from);
    *out.mutable_end_time() = TimestampMessage(hotspot.until);
    if (hotspot.peak_bytes != 0) out.set_peak_queue_bytes(hotspot.peak_bytes);
    out.set_ce_marked_packets(hotspot.marked);
    out.set_dropped_packets(hotspot.dropped);
    *out.mutable_paused_duration() = DurationMessage(hotspot.paused);
    FillTraffic(snapshot, senders, congestion.traffic[i], out);
  }
}

}  // namespace rocescope
