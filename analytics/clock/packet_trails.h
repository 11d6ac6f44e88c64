// SPDX-License-Identifier: BSD-3-Clause
// Remembers recent observations of single packets, to match each new observation with earlier ones
// of the same packet.
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

// Returns a packet identifier that is equal at all observation points and different for different
// packets; it is never 0. INT reports contain no MSN and show the TTL at a different point than
// mirrors, so INT packets have separate identifiers.
inline uint64_t PacketOf(const ObservationRecord& record) {
  const uint64_t number =
      uint64_t{record.psn} << 32 | uint64_t{record.opcode} << 24 | (record.msn & 0xff'ffff);
  return HashCombine(HashCombine(FlowKeyHash()(record.flow), 0), number) | 1;
}
inline uint64_t PacketOf(const TelemetryPacket& packet) {
  const uint64_t number = uint64_t{packet.psn} << 32 | uint64_t{packet.opcode} << 24;
  return HashCombine(HashCombine(FlowKeyHash()(packet.flow), 1), number) | 1;
}

// `Where` identifies the timestamp's origin. Equal origins observe a packet with a given TTL once.
template <typename Where>
class PacketTrails {
 public:
  struct Seen {
    Where where{};
    uint8_t ttl = 0;
    Timestamp time;
    Timestamp arrival;
  };

  // `packets` is the number of packets remembered, a power of two. Observations further apart than
  // `apart` belong to a retransmission.
  PacketTrails(size_t packets, Duration apart) : apart_(apart), slots_(packets) {}

  // Calls visit(from, to) for each earlier observation of the packet elsewhere, ordered by
  // decreasing TTL.
  template <typename Visit>
  void Add(uint64_t packet, const Seen& seen, Visit visit) {
    // Two mirror sessions of one switch copy a packet at the same time, apart from the 100 us
    // resolution of the coarser timestamp.
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
