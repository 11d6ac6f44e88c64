// SPDX-License-Identifier: BSD-3-Clause
// Estimates the offsets between the clocks of mirrors, INT and captures from packets that two
// clocks timestamped, in both directions. The minimum of many delays contains no queueing, and no
// delay is negative.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analytics/clock/clock_offset.h"
#include "analytics/clock/delay_envelope.h"
#include "analytics/clock/offset_bounds.h"
#include "analytics/clock/packet_trails.h"
#include "base/time.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct ClockOptions {
  size_t packets = 1u << 15;  // packets remembered; a power of two
  size_t clocks = 1u << 14;
  size_t pairs = 1u << 16;  // ordered pairs of clocks
  // Initial length; doubles as the observation gets longer.
  Duration window = std::chrono::milliseconds(1);
  // Observations of a packet that are further apart in time belong to a retransmission.
  Duration apart = std::chrono::milliseconds(1);
};

class ClockOffsets {
 public:
  explicit ClockOffsets(const ClockOptions& options = {});

  // Used only for names; must outlive this object. Null: no names.
  void SetFabric(const topology::Fabric* fabric) { fabric_ = fabric; }
  void LearnTap(const TapLocation& place);
  void Add(const RecordBatch& batch);

  ClockAnswer Answer() const;

  // Returns the correction to subtract from a tap's times to convert them to the reference clock; 0
  // if unknown. The result is as of the last Settle().
  Duration OfTap(TapId tap) const;
  Duration OfIntNode(uint32_t node_id) const;
  // Updates the estimates that OfTap and OfIntNode return. Call it only from time to time, because
  // it is expensive.
  void Settle();

 private:
  static constexpr uint32_t kNoClock = UINT32_MAX;

  struct Key {
    StampKind kind = StampKind::kMirror;
    IpAddress address;    // address of a mirror's switch
    uint32_t number = 0;  // node ID of an INT node, or tap of a capture

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Seen = PacketTrails<uint32_t>::Seen;  // indexed by clock
  // Result for all clocks from one window or from all windows.
  struct Solution {
    std::vector<std::optional<OffsetBounds>> bounds;  // indexed by clock
    std::vector<uint32_t> reference;                  // indexed by clock: reference of its group
    std::vector<bool> contradicted;  // indexed by clock: no offsets are consistent within its group
    std::vector<std::vector<uint32_t>> groups;  // clocks of each group, the reference first
  };

  uint32_t ClockOf(const Key& key);  // kNoClock: the table is full
  void Add(uint64_t packet, const Seen& seen);
  void AddDelay(const Seen& from, const Seen& to);
  size_t WindowOf(Timestamp time);
  std::string NameOf(const Key& key) const;
  std::vector<DelayBound> BoundsOf(size_t first_window, size_t end) const;
  Solution Solve(std::span<const DelayBound> bounds) const;
  static void TakeLast(const std::vector<Solution>& windows, std::span<const uint32_t> group,
                       Solution& all);
  std::optional<double> DriftOf(const std::vector<Solution>& windows, uint32_t clock,
                                uint32_t reference) const;

  const ClockOptions options_;
  const topology::Fabric* fabric_ = nullptr;
  std::map<Key, uint32_t> clocks_;
  std::vector<Key> keys_;
  std::vector<uint32_t> clock_of_tap_;
  std::vector<uint64_t> packets_of_;  // indexed by clock
  PacketTrails<uint32_t> trails_;
  std::unordered_map<uint64_t, DelayEnvelope> delays_;  // key: from << 32 | to
  Duration window_;
  int64_t first_window_ = -1;
  uint64_t pairs_refused_ = 0;
  std::vector<Duration> settled_;  // indexed by clock
};

}  // namespace rocescope
