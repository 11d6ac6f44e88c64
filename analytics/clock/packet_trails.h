// SPDX-License-Identifier: BSD-3-Clause
// Remembers for a while by whom single packets were seen, so that each new sight of one can be held
// against those before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "dataplane/record/flow_key_hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

// The same at all that see it, and unlike any other's; 0 is no packet's. INT tells no MSN, and its
// TTLs are not those of mirrors: it has trails of its own.
inline uint64_t PacketOf(const ObservationRecord& record) {
  const uint64_t number =
      uint64_t{record.psn} << 32 | uint64_t{record.opcode} << 24 | (record.msn & 0xff'ffff);
  return HashCombine(HashCombine(FlowKeyHash()(record.flow), 0), number) | 1;
}
inline uint64_t PacketOf(const TelemetryPacket& packet) {
  const uint64_t number = uint64_t{packet.psn} << 32 | uint64_t{packet.opcode} << 24;
  return HashCombine(HashCombine(FlowKeyHash()(packet.flow), 1), number) | 1;
}

// Where: whose stamp it is; two that are equal see a packet of one TTL once.
template <typename Where>
class PacketTrails {
 public:
  struct Seen {
    Where where{};
    uint8_t ttl = 0;
    Timestamp time;
    Timestamp arrival;
  };

  // Packets remembered, a power of two; copies that come so far apart are of one sent again.
  PacketTrails(size_t packets, Duration apart) : apart_(apart), slots_(packets) {}

  // Calls visit(from, to) with each that saw it elsewhere, the one before first: by falling TTL.
  template <typename Visit>
  void Add(uint64_t packet, const Seen& seen, Visit visit) {
    // Two sessions of one switch copy a packet at once, but for the coarser stamp's 100 us.
    constexpr Duration kAtOnce = std::chrono::microseconds(1);
    Slot& slot = slots_[packet & (slots_.size() - 1)];
    if (slot.packet != packet) slot = {.packet = packet};
    if (slot.sent_again) return;
    const std::span<const Seen> known = std::span(slot.seen).first(slot.count);
    for (const Seen& other : known) {
      const bool again = other.where == seen.where && other.ttl == seen.ttl;
      if (again && seen.time - other.time < kAtOnce && other.time - seen.time < kAtOnce) return;
      if (again || seen.arrival - other.arrival > apart_ || other.arrival - seen.arrival > apart_) {
        slot.sent_again = true;
        return;
      }
    }
    for (const Seen& other : known) {
      if (other.where == seen.where || other.ttl == seen.ttl) continue;
      visit(other.ttl > seen.ttl ? other : seen, other.ttl > seen.ttl ? seen : other);
    }
    if (slot.count < kMaxSeen) slot.seen[slot.count++] = seen;
  }

 private:
  static constexpr size_t kMaxSeen = 8;
  struct Slot {
    uint64_t packet = 0;
    uint8_t count = 0;
    bool sent_again = false;
    std::array<Seen, kMaxSeen> seen;
  };

  Duration apart_;
  std::vector<Slot> slots_;
};

}  // namespace rocescope
