// SPDX-License-Identifier: BSD-3-Clause
// How long packets took from one place to the next, window by window. By the stamps of two clocks:
// what is compared are windows, never places.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "topology/fabric.h"

namespace rocescope {

enum class DelayKind : uint8_t {
  kTransit,     // from the ingress of a switch to the ingress of a later one, queues included
  kCnp,         // the same, of congestion notifications
  kWire,        // from leaving a switch to coming to the next one, by INT
  kTurnaround,  // from the ingress of a NIC's switch to the ingress of its answer there
};

struct DelayKey {
  DelayKind kind = DelayKind::kTransit;
  topology::NodeIndex from = topology::kNone;
  // A port of the later switch; its node, where the mirror tells no port. Of a turnaround, the NIC.
  uint32_t to = topology::kNone;
  bool to_node = false;
  uint8_t hops = 0;  // links between the two; 0 of a turnaround

  friend auto operator<=>(const DelayKey&, const DelayKey&) = default;
};

struct DelayWindow {
  int64_t window = 0;  // its number since the epoch
  int64_t least = 0;   // ns, as are the following
  int64_t most = 0;
  int64_t next_most = 0;  // the second largest: one may be a mistake; of a single packet, its own
  int64_t sum = 0;
  uint32_t count = 0;
  uint32_t late = 0;  // took longer than the quickest by more than others' frames in front explain

  int64_t Mean() const { return sum / static_cast<int64_t>(count); }
};

// By place; windows ascending, those without a packet left out.
using Delays = std::map<DelayKey, std::vector<DelayWindow>>;

// What a switch put into one of its queues, by INT.
struct QueueCount {
  uint8_t queue = 0;
  uint32_t cnps = 0;
  uint32_t data = 0;

  friend bool operator==(const QueueCount&, const QueueCount&) = default;
};

// Into which queues a switch put congestion notifications, and other packets, by INT; and how many
// of the former a mirror lost sight of.
struct QueueUse {
  int64_t window = 0;              // its number since the epoch
  std::vector<QueueCount> queues;  // in no order, at most kMaxQueues
  // Of notifications that a mirror saw here: not seen further on, though others of the flow were.
  // The mirror lost its copy, or the fabric lost the notification.
  uint32_t unmatched = 0;

  static constexpr size_t kMaxQueues = 16;

  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

// By switch; windows ascending, those without either left out.
using QueueUses = std::map<topology::NodeIndex, std::vector<QueueUse>>;

}  // namespace rocescope
