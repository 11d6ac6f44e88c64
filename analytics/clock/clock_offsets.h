// SPDX-License-Identifier: BSD-3-Clause
// Ties the clocks of mirrors, INT and captures together by packets that two of them stamped, in
// both directions: what is least of many delays had no queue, and no delay is below zero.
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
  size_t packets = 1u << 15;  // remembered; a power of two
  size_t clocks = 1u << 14;
  size_t pairs = 1u << 16;                         // of clocks, by direction
  Duration window = std::chrono::milliseconds(1);  // at first; grows with the time that passed
  // Copies that come so far apart are of a packet that was sent again.
  Duration apart = std::chrono::milliseconds(1);
};

class ClockOffsets {
 public:
  explicit ClockOffsets(const ClockOptions& options = {});

  // For names alone; it must outlive this one. Null: none.
  void SetFabric(const topology::Fabric* fabric) { fabric_ = fabric; }
  void LearnTap(const TapLocation& place);
  void Add(const RecordBatch& batch);

  ClockAnswer Answer() const;

  // What to take from a tap's times to have the reference's; 0 where that is not known. As of the
  // last Settle.
  Duration OfTap(TapId tap) const;
  Duration OfIntNode(uint32_t node_id) const;
  // Estimates what OfTap and OfIntNode tell; from time to time, as it is not cheap.
  void Settle();

 private:
  static constexpr uint32_t kNoClock = UINT32_MAX;

  struct Key {
    StampKind kind = StampKind::kMirror;
    IpAddress address;    // of a mirror's switch
    uint32_t number = 0;  // of an INT node, or a capture's tap

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Seen = PacketTrails<uint32_t>::Seen;  // by clock
  // What one window, or all, says of every clock.
  struct Solution {
    std::vector<std::optional<OffsetBounds>> bounds;  // by clock
    std::vector<uint32_t> reference;                  // by clock, of its group
    std::vector<bool> contradicted;                   // by clock: no offsets explain its group
    std::vector<std::vector<uint32_t>> groups;        // clocks, each group's reference first
  };

  uint32_t ClockOf(const Key& key);  // kNoClock: there are too many
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
  std::vector<uint64_t> packets_of_;  // by clock
  PacketTrails<uint32_t> trails_;
  std::unordered_map<uint64_t, DelayEnvelope> delays_;  // by from << 32 | to
  Duration window_;
  int64_t first_window_ = -1;
  uint64_t pairs_refused_ = 0;
  std::vector<Duration> settled_;  // by clock
};

}  // namespace rocescope
