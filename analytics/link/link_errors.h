// SPDX-License-Identifier: BSD-3-Clause
// Links that damage more frames than tolerated, from the receivers' FCS error counters. The state
// is bounded and covers the whole time, not only the stored windows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analytics/link/error_rate.h"
#include "analytics/metric/counter_listener.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

struct LinkErrorOptions {
  double tolerated = 1e-8;     // damaged frames per frame
  double alarms_a_day = 0.01;  // false alarms of the whole fabric
};

// A time in which a link damages frames. The receiver counts them.
struct ErrorEpisode {
  // Start of the first interval between readings with damaged frames. An interval in which the link
  // was idle ends before it.
  Timestamp from;
  Timestamp detected_at;  // the reading that sufficed
  Timestamp last;         // the last reading with damaged frames
  bool is_over = false;   // so many frames arrived since then that the link is healthy again
  uint64_t errors = 0;
  double frames = 0;  // received from `from` to `last`, including the damaged ones

  friend bool operator==(const ErrorEpisode&, const ErrorEpisode&) = default;
};

class LinkErrors final : public CounterListener {
 public:
  static constexpr size_t kMaxEpisodes = 8;  // each direction; the oldest are dropped

  // `fabric` must outlive this object.
  explicit LinkErrors(const topology::Fabric& fabric, const LinkErrorOptions& options = {});

  // Uses received packets and FCS errors, or all receive errors of a port that does not count FCS
  // errors. A receiver that reports no packets is assumed to receive frames of 1,000 bytes at line
  // rate, so that only high error ratios are detected there.
  void OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) override;

  // The episodes of the direction to this port, in order of time.
  std::span<const ErrorEpisode> EpisodesOf(topology::PortIndex receiver) const {
    return directions_[receiver].episodes;
  }

 private:
  struct Direction {
    bool has_packets = false;
    bool has_fcs = false;            // counts FCS errors, not only receive errors
    uint64_t packets = 0;            // at the latest reading
    std::optional<uint64_t> errors;  // at the latest reading
    uint64_t counted_packets = 0;    // at the end of the last interval
    uint64_t counted_errors = 0;
    Timestamp counted_until;
    // The latest readings since then without new frames. They may be cached ones, and hide frames.
    std::array<Timestamp, 3> unchanged{};
    double clean_frames = 0;  // since the last damaged frame of an active episode
    ErrorRateTest test;
    std::vector<ErrorEpisode> episodes;
  };

  static void Idle(Direction& direction, Timestamp time);
  void Count(Direction& direction, topology::PortIndex receiver, Timestamp time);
  void Follow(Direction& direction, Timestamp time, uint64_t errors, double frames);

  const topology::Fabric& fabric_;
  const ErrorRateOptions options_;     // each direction
  std::vector<Direction> directions_;  // by receiving port
};

}  // namespace rocescope
