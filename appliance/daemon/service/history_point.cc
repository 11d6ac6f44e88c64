// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/history_point.h"

#include <algorithm>
#include <string>

#include "analytics/service_level/service_level.h"
#include "appliance/api/message_value.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {

void FillPoint(const LinkPoint& point, v1::LinkPoint& out) {
  *out.mutable_start_time() = TimestampMessage(point.from);
  if (point.use_windows > 0) {
    out.set_mean_utilization(point.use_sum / point.use_windows);
    out.set_max_utilization(point.use_most);
  }
  out.set_bytes(point.bytes);
  out.set_ce_marked_packets(point.marked);
  out.set_dropped_packets(point.dropped);
  *out.mutable_paused_duration() = DurationMessage(static_cast<int64_t>(point.paused_ns));
  if (point.peak_bytes != 0) out.set_peak_queue_bytes(point.peak_bytes);
  out.set_error_frames(point.errors);
  out.set_window_count(point.windows);
}

void FillPoint(const JobPoint& point, v1::JobPoint& out) {
  *out.mutable_start_time() = TimestampMessage(point.from);
  out.set_bytes(point.bytes);
  out.set_iteration_count(point.iterations);
  if (point.period_looks > 0) {
    *out.mutable_mean_iteration_period() =
        DurationMessage(static_cast<int64_t>(point.period_sum_ns / point.period_looks));
  }
  out.set_finding_count(point.findings);
  const size_t state = std::min<size_t>(point.service, kServiceStateNames.size() - 1);
  out.set_service_level_state(EnumOf<v1::ServiceLevel::State>(kServiceStateNames[state]));
  out.set_snapshot_count(point.looks);
}

}  // namespace rocescope
