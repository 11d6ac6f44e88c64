// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/link_errors.h"

#include <algorithm>
#include <utility>

#include "analytics/link/linked_port.h"

namespace rocescope {
namespace {

constexpr double kAssumedFrame = 1000;  // bytes

// An episode is over if the link, at its error ratio, would receive that many intact frames in a
// row with a probability of at most 1 in 10,000.
constexpr double kHealthy = 9.2;  // -log(1 / 10,000)

}  // namespace

LinkErrors::LinkErrors(const topology::Fabric& fabric, const LinkErrorOptions& options)
    : fabric_(fabric),
      options_{.tolerated = options.tolerated,
               .alarms_a_day = options.alarms_a_day /
                               std::max(1.0, 2 * static_cast<double>(fabric.links().size()))},
      directions_(fabric.ports().size()) {}

void LinkErrors::OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) {
  const bool counts_errors = metric == Metric::kFcsErrors || metric == Metric::kRxErrors;
  if (metric != Metric::kRxPackets && !counts_errors) return;
  const topology::PortIndex receiver = LinkedPortOf(fabric_, entity);
  if (receiver == topology::kNone) return;
  Direction& direction = directions_[receiver];
  if (metric == Metric::kRxPackets) {
    direction.has_packets = true;
    direction.packets = series.total();
    return;
  }
  if (metric == Metric::kRxErrors && direction.has_fcs) return;
  const bool is_other = metric == Metric::kFcsErrors && !std::exchange(direction.has_fcs, true);
  const bool is_first = is_other || !direction.errors || series.total() < *direction.errors;
  direction.errors = series.total();
  if (is_first) {
    direction.counted_errors = *direction.errors;
    direction.counted_packets = direction.packets;
    direction.counted_until = series.last_reading();
    return;
  }
  Count(direction, receiver, series.last_reading());
}

// The interval that the next frames are counted in begins at the latest reading that cannot be a
// cached one.
void LinkErrors::Idle(Direction& direction, Timestamp time) {
  direction.counted_until = std::max(direction.counted_until, direction.unchanged.front());
  std::ranges::rotate(direction.unchanged, direction.unchanged.begin() + 1);
  direction.unchanged.back() = time;
}

void LinkErrors::Count(Direction& direction, topology::PortIndex receiver, Timestamp time) {
  const uint64_t errors = *direction.errors - direction.counted_errors;
  double frames = 0;
  if (!direction.has_packets) {
    const auto seconds = static_cast<double>((time - direction.counted_until).count()) * 1e-9;
    frames = static_cast<double>(fabric_.SpeedOf(receiver)) / 8 * seconds / kAssumedFrame;
  } else if (direction.packets > direction.counted_packets) {
    frames = static_cast<double>(direction.packets - direction.counted_packets);
  } else if (direction.packets < direction.counted_packets) {  // counted by another source now
    direction.counted_packets = direction.packets;
  }
  // Without new frames there is nothing to compare errors with: the next reading has both.
  if (frames <= 0 && errors == 0) Idle(direction, time);
  if (frames <= 0 || time <= direction.counted_until) return;
  direction.unchanged = {};
  const Timestamp from = std::exchange(direction.counted_until, time);
  direction.counted_packets = direction.packets;
  direction.counted_errors = *direction.errors;
  frames += static_cast<double>(errors);
  if (!direction.episodes.empty() && !direction.episodes.back().is_over) {
    Follow(direction, time, errors, frames);
    return;
  }
  const auto excess = direction.test.Add(from, time, errors, frames, options_);
  if (!excess) return;
  if (direction.episodes.size() == kMaxEpisodes) {
    direction.episodes.erase(direction.episodes.begin());
  }
  direction.episodes.push_back({.from = excess->from,
                                .detected_at = time,
                                .last = time,
                                .errors = excess->errors,
                                .frames = excess->frames});
  direction.clean_frames = 0;
}

void LinkErrors::Follow(Direction& direction, Timestamp time, uint64_t errors, double frames) {
  ErrorEpisode& episode = direction.episodes.back();
  direction.clean_frames += frames;
  if (errors > 0) {
    episode.errors += errors;
    episode.frames += std::exchange(direction.clean_frames, 0);
    episode.last = time;
    return;
  }
  const double ratio = static_cast<double>(episode.errors) / episode.frames;
  episode.is_over = direction.clean_frames * ratio > kHealthy;
}

}  // namespace rocescope
