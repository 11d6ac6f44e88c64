// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/collect.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dataplane/run/counter_columns.h"
#include "sim/profile/silent_loss.h"

namespace rocescope::sim {
namespace {

void AddProfile(const CollectOptions& options, const TransformReport& counters,
                v1::TruthProfile& out) {
  out.set_name(options.profile.name);
  out.set_scale(1 / options.scale);
  out.set_seed(options.seed);
  out.set_readings(counters.readings);
  out.set_lost_polls(counters.lost_polls);
  out.set_lost_readings(counters.lost);
  out.set_late_readings(counters.late);
  out.set_reordered_readings(counters.reordered);
  out.set_duplicate_readings(counters.duplicates);
  for (const PollerReport& poller : counters.pollers) {
    v1::TruthPoller& one = *out.add_pollers();
    one.set_node(poller.name);
    one.set_group(std::string(NameOf(poller.group)));
    one.set_vendor(poller.vendor);
    one.set_read(poller.is_read);
    one.set_period_ns(poller.period.count());
    one.set_refresh_ns(poller.refresh.count());
    one.set_staleness_ns(poller.staleness.count());
    one.set_clock_offset_ns(poller.clock_offset.count());
    one.set_restarts(poller.restarts);
  }
}

}  // namespace

Result<TransformReport> CollectCounters(const CollectOptions& options,
                                        const topology::Fabric& fabric,
                                        const OpenExactCounters& open, const std::string& path,
                                        v1::Truth& truth) {
  const auto exact = open();
  if (!exact) return tl::unexpected(exact.error());
  const std::vector<SilentLoss> losses = FindSilentLosses(truth, fabric, **exact);
  std::vector<uint32_t> watched;
  for (const SilentLoss& loss : losses) {
    watched.insert(watched.end(), loss.watch.sent.begin(), loss.watch.sent.end());
    watched.insert(watched.end(), loss.watch.received.begin(), loss.watch.received.end());
  }
  std::sort(watched.begin(), watched.end());
  watched.erase(std::unique(watched.begin(), watched.end()), watched.end());

  auto writer = CounterColumnsWriter::Open(path);
  if (!writer) return tl::unexpected(writer.error());
  const auto to_read = open();
  if (!to_read) return tl::unexpected(to_read.error());
  auto report = Transform(**to_read, options.profile,
                          {.scale = options.scale,
                           .seed = options.seed,
                           .overrides = options.overrides,
                           .watched = watched},
                          **writer);
  if (!report) return tl::unexpected(report.error());
  if (Status closed = (*writer)->Close(); !closed) return tl::unexpected(closed.error());

  for (const SilentLoss& loss : losses) {
    const auto readings = [&](std::span<const uint32_t> entities) {
      std::vector<std::vector<ReadingTime>> found;
      for (const uint32_t entity : entities) {
        const auto at = std::lower_bound(watched.begin(), watched.end(), entity);
        found.push_back(report->watched[static_cast<size_t>(at - watched.begin())]);
      }
      return found;
    };
    const auto again = open();
    if (!again) return tl::unexpected(again.error());
    const double limit = DetectionLimit(loss.watch, *report, readings(loss.watch.sent),
                                        readings(loss.watch.received), **again);
    v1::TruthFault& fault = *truth.mutable_faults(loss.fault);
    const double other = fault.detection_limit_frames();  // limit in the other direction
    fault.set_detection_limit_frames(other > 0 ? std::min(other, limit) : limit);
  }
  AddProfile(options, *report, *truth.mutable_profile());
  return report;
}

}  // namespace rocescope::sim
