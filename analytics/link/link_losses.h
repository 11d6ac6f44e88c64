// SPDX-License-Identifier: BSD-3-Clause
// Links that lose frames although no counter shows it, from the counters of both ends, whose
// devices are polled at different times. The state is bounded and covers the whole time.
//
// A device may answer from a cache. Its values are then those of a moment between two polls: after
// the last poll that returned other values, because the cache did not contain them yet, and before
// the first poll that returned them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analytics/link/loss_bounds.h"
#include "analytics/link/loss_trend.h"
#include "analytics/link/repeated_readings.h"
#include "analytics/metric/counter_listener.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

struct LinkLossOptions {
  // Values that stay the same for longer are not from a cache: the device is idle.
  Duration longest_cache = std::chrono::seconds(60);
  Duration clock_error = std::chrono::milliseconds(100);  // greatest, between two devices
};

// A time in which a link loses frames.
struct LinkLoss {
  uint64_t frames = 0;      // lower bound of the lost frames, or an estimate
  bool is_certain = false;  // true: proved by LossBounds; false: estimated by RepeatedReadings
  uint64_t sent = 0;        // frames sent from `from` to `last`
  Timestamp from;           // the loss began after this time
  Timestamp detected_at;
  Timestamp last;        // the poll that last showed more loss
  bool is_over = false;  // more loss at the same rate would have shown since then

  friend bool operator==(const LinkLoss&, const LinkLoss&) = default;
};

class LinkLosses final : public CounterListener {
 public:
  // Fewer lost frames are not reported: a few can be counted differently by the two ends.
  static constexpr uint64_t kLeastFrames = 10;
  static constexpr size_t kMaxLosses = 8;  // each direction; the oldest are dropped

  // `fabric` must outlive this object.
  explicit LinkLosses(const topology::Fabric& fabric, const LinkLossOptions& options = {});

  // Uses sent and received packets and bytes, errors and discards.
  void OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) override;

  // Losses in the direction from this port, in order of time. Empty: none, or the counters of the
  // two ends contradict each other.
  std::span<const LinkLoss> LossesFrom(topology::PortIndex sender) const;
  // The loss of a link whose direction is unknown, estimated by LossTrend. nullptr: none, or too
  // small.
  const LossTrend::Loss* TrendOf(topology::LinkIndex link) const;
  // Frames that the other end certainly received beyond those that this port counted as sent, in
  // the whole time; 0: fewer than kLeastFrames.
  uint64_t SurplusFrom(topology::PortIndex sender) const { return directions_[sender].surplus; }

 private:
  struct Counter {
    uint64_t total = 0;
    uint64_t bytes = 0;
    uint32_t gaps = 0;
    // In the present poll.
    bool has_changed = false;
    bool has_bytes_changed = false;
    bool is_read = false;  // in the present poll
    bool has_gap = false;  // since the last complete poll
  };
  struct PortState {
    Counter sent;
    Counter received;
    uint64_t errors = 0;
    uint64_t discards = 0;
    // The last poll with both counters.
    struct Poll {
      uint64_t sent = 0;
      uint64_t received = 0;  // including those with errors
    };
    std::optional<Poll> last_poll;
    bool has_fcs = false;  // counts FCS errors; otherwise `errors` are all receive errors
  };
  struct Device {
    // The present poll.
    std::optional<Timestamp> begin;
    Timestamp end;
    bool has_changed = false;         // contents
    std::optional<Timestamp> before;  // begin of the previous poll
    Timestamp same_since;             // begin of the first poll with the present contents
  };
  struct Direction {
    LossBounds bounds;
    RepeatedReadings repeated;
    std::vector<LinkLoss> losses;
    uint64_t surplus = 0;      // see SurplusFrom
    uint64_t lost_before = 0;  // the restart of a counter, since the last loss was over
    uint64_t sent_when_intact = 0;
    uint64_t received_at_last = 0;  // when more loss showed last
  };

  struct Evidence {
    uint64_t lost = 0;  // frames
    std::optional<LossBounds::Intact> intact;
    std::optional<LossBounds::Uncertainty> uncertainty;
  };

  void OnPackets(topology::PortIndex port, Counter& counter, const MetricSeries& series);
  static void FinishPoll(Counter& counter);
  void FinishPoll(topology::NodeIndex node);
  void CompareEnds(topology::PortIndex port, Timestamp time);
  void Update(topology::PortIndex sender, Timestamp time);
  static void Restart(Direction& direction);
  static Evidence EvidenceOf(const Direction& direction, uint64_t discards);

  const topology::Fabric& fabric_;
  const LinkLossOptions options_;
  std::vector<Device> devices_;        // by node
  std::vector<PortState> ports_;       // by port
  std::vector<Direction> directions_;  // by sending port
  std::vector<LossTrend> trends_;      // by link
};

}  // namespace rocescope
