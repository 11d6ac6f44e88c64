// SPDX-License-Identifier: BSD-3-Clause
// Delays of packets between two places per analysis window. They contain the unknown offset
// between two clocks: compare only windows of the same pair of places (DelayKey).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "topology/fabric.h"

namespace rocescope {

enum class DelayKind : uint8_t {
  kTransit,  // from the ingress of a switch to the ingress of a later one, including queueing
  kCnp,      // the same for CNPs
  kWire,     // from the egress of a switch to the ingress of the next one, by INT
  // From the ingress of a request at the NIC's switch to the ingress of its response there.
  kTurnaround,
};

struct DelayKey {
  DelayKind kind = DelayKind::kTransit;
  topology::NodeIndex from = topology::kNone;
  // A port of the later switch; its node if the mirror does not identify the port; for a
  // turnaround, the NIC.
  uint32_t to = topology::kNone;
  bool to_node = false;
  uint8_t hops = 0;  // links between the two places; 0 for a turnaround

  friend auto operator<=>(const DelayKey&, const DelayKey&) = default;
};

struct DelayWindow {
  int64_t window = 0;  // window number since the epoch
  int64_t least = 0;   // nanoseconds, as in the values below
  int64_t most = 0;
  // Second largest, because one may be an error; equal to `most` for a single packet.
  int64_t next_most = 0;
  int64_t sum = 0;
  uint32_t count = 0;
  // Packets whose delay exceeds that of the fastest packet by more than the frames queued ahead of
  // them can explain.
  uint32_t late = 0;

  int64_t Mean() const { return sum / static_cast<int64_t>(count); }
};

// Keyed by place; windows are ascending and contain at least one packet.
using Delays = std::map<DelayKey, std::vector<DelayWindow>>;

// Packets that a switch put into one of its queues, by INT.
struct QueueCount {
  uint8_t queue = 0;
  uint32_t cnps = 0;
  uint32_t data = 0;

  friend bool operator==(const QueueCount&, const QueueCount&) = default;
};

// Queues into which a switch put CNPs and other packets, by INT, and the number of CNPs that
// disappeared from the mirrors.
struct QueueUse {
  int64_t window = 0;              // window number since the epoch
  std::vector<QueueCount> queues;  // unordered, at most kMaxQueues
  // CNPs that a mirror observed here but no later mirror, although other CNPs of the flow were
  // observed there. Either the mirror lost its copy or the fabric lost the CNP.
  uint32_t unmatched = 0;

  static constexpr size_t kMaxQueues = 16;

  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

// Keyed by switch; windows are ascending and not empty.
using QueueUses = std::map<topology::NodeIndex, std::vector<QueueUse>>;

}  // namespace rocescope
