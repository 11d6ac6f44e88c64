// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/detection_limit.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace rocescope::sim {
namespace {

// A side of the watch: its readings, and bounds of their exact times that the collector knows.
struct Side {
  struct Instant {
    Timestamp exact;
    Timestamp least;  // the exact time is certainly not earlier
    Timestamp most;   // ... and not later
  };
  std::vector<Instant> instants;  // in order of time
};

// The readings of all entities of a side; of several entities, those that were read in one poll.
Side MakeSide(std::span<const std::vector<ReadingTime>> readings, const PollerReport& poller,
              Duration clock_error) {
  Side side;
  if (readings.empty()) return side;
  for (const ReadingTime& first : readings.front()) {
    const bool in_all = std::all_of(readings.begin() + 1, readings.end(), [&](const auto& others) {
      const auto at = std::lower_bound(
          others.begin(), others.end(), first,
          [](const ReadingTime& a, const ReadingTime& b) { return a.time < b.time; });
      return at != others.end() && at->time == first.time && at->exact == first.exact;
    });
    if (!in_all) continue;
    side.instants.push_back({.exact = first.exact,
                             .least = first.time - poller.staleness - clock_error,
                             .most = first.time + clock_error});
  }
  return side;
}

// Sums of both sides at given times. Invalid where a device reports nothing.
struct Counts {
  uint64_t sent = 0;
  uint64_t received = 0;
};
using CountsAt = std::map<Timestamp, std::optional<Counts>>;

std::optional<uint64_t> Sum(ExactCounters& exact, std::span<const uint32_t> entities, Metric metric,
                            Timestamp time, std::vector<uint64_t>& values) {
  uint64_t sum = 0;
  for (const uint32_t index : entities) {
    const std::vector<Metric>& metrics = exact.entities()[index].metrics;
    const auto at = std::find(metrics.begin(), metrics.end(), metric);
    values.resize(metrics.size());
    if (at == metrics.end() || !exact.Read(index, time, time, values)) return std::nullopt;
    sum += values[static_cast<size_t>(at - metrics.begin())];
  }
  return sum;
}

void ReadCounts(const LossWatch& watch, ExactCounters& exact, CountsAt& counts) {
  std::vector<uint64_t> values;
  for (auto& [time, at] : counts) {
    const auto sent = Sum(exact, watch.sent, watch.sent_metric, time, values);
    const auto received = Sum(exact, watch.received, watch.received_metric, time, values);
    if (sent && received) at = Counts{.sent = *sent, .received = *received};
  }
}

}  // namespace

double DetectionLimit(const LossWatch& watch, const TransformReport& report,
                      std::span<const std::vector<ReadingTime>> sent,
                      std::span<const std::vector<ReadingTime>> received, ExactCounters& exact) {
  if (watch.sent.empty() || watch.received.empty()) return kNotProvable;
  const PollerReport& sender = report.pollers[report.poller_of[watch.sent.front()]];
  const PollerReport& receiver = report.pollers[report.poller_of[watch.received.front()]];
  const auto lacks = [](const PollerReport& poller, Metric metric) {
    return !poller.is_read || poller.missing[static_cast<size_t>(metric)];
  };
  if (lacks(sender, watch.sent_metric) || lacks(receiver, watch.received_metric)) {
    return kNotProvable;
  }
  // The readings of one device have the same clock.
  const Duration clock_error =
      sender.node == receiver.node ? Duration(0) : report.greatest_clock_error;
  const Side from = MakeSide(sent, sender, clock_error);
  const Side to = MakeSide(received, receiver, clock_error);

  CountsAt counts = {{watch.begin, std::nullopt}, {watch.end, std::nullopt}};
  for (const Side* side : {&from, &to}) {
    for (const Side::Instant& instant : side->instants) counts.try_emplace(instant.exact);
  }
  ReadCounts(watch, exact, counts);
  const uint64_t before = [&] {
    const auto& at_begin = counts[watch.begin];
    return at_begin ? at_begin->sent - at_begin->received : 0;
  }();
  const auto lost_at = [&](const Counts& at) {
    const auto lost = static_cast<int64_t>(at.sent - at.received - before);
    return std::clamp(static_cast<double>(lost), 0.0, static_cast<double>(watch.lost));
  };
  // Less than `watch.lost` if the fault also affects the other direction.
  const auto& at_end = counts[watch.end];
  const double lost_here = at_end ? lost_at(*at_end) : static_cast<double>(watch.lost);
  // Frames lost here by this fault until a time.
  const auto lost_until = [&](Timestamp time, const Counts& at) {
    return time <= watch.begin ? 0.0 : time >= watch.end ? lost_here : lost_at(at);
  };
  // For each reading of the sender as s1: the least number of frames that stay hidden with any s0
  // before it, including those lost before r0 and after r1.
  double best_start = std::numeric_limits<double>::infinity();
  double limit = kNotProvable;
  for (const Side::Instant& at : from.instants) {
    const auto& sent_at = counts[at.exact];
    if (!sent_at) continue;
    // The last reading of the receiver that is certainly older.
    const auto older = std::partition_point(
        to.instants.begin(), to.instants.end(),
        [&](const Side::Instant& instant) { return instant.most <= at.least; });
    if (older != to.instants.begin()) {
      if (const auto& earlier = counts[(older - 1)->exact]) {
        best_start = std::min(best_start, static_cast<double>(sent_at->sent - earlier->sent) +
                                              lost_until((older - 1)->exact, *earlier));
      }
    }
    // The first one that is certainly newer.
    const auto newer =
        std::partition_point(to.instants.begin(), to.instants.end(),
                             [&](const Side::Instant& instant) { return instant.least < at.most; });
    if (newer == to.instants.end()) continue;
    if (const auto& after = counts[newer->exact]) {
      const double hidden = static_cast<double>(after->sent - sent_at->sent) +
                            static_cast<double>(watch.lost) - lost_until(newer->exact, *after);
      limit = std::min(limit, best_start + hidden);
    }
  }
  if (limit >= kNotProvable) return kNotProvable;
  // At the ends of the span, frames in flight count as sent and not as received.
  return std::max(1.0, limit + static_cast<double>(watch.in_flight));
}

}  // namespace rocescope::sim
