// SPDX-License-Identifier: BSD-3-Clause
// The reference that line_rate_memory measures the product against: the least that a program could
// do with the same frames. It parses each frame, and counts packets, bytes, PSN gaps and CE marks
// in a hash table with one cache line per flow. It has no records, intervals, retransmissions,
// messages or round trips.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/address.h"
#include "base/hash.h"
#include "base/qpn.h"
#include "dataplane/decode/plain.h"
#include "dataplane/flow/zeroed_array.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"

namespace rocescope::perf {

class LeanLoop {
 public:
  struct alignas(64) Entry {
    IpAddress source;
    IpAddress destination;
    uint32_t destination_qpn;
    uint32_t next_psn;
    uint32_t packets;  // 0: unused entry
    uint32_t missing;  // PSNs that were skipped
    uint64_t bytes;
    uint32_t ce_marked;
  };
  static_assert(sizeof(Entry) == 64);

  // `flows` is the greatest number of flows.
  explicit LeanLoop(size_t flows) : entries_(std::bit_ceil(flows * 2)) {}

  // Reads the frames of a burst. All of them must be plain (dataplane/decode/plain.h).
  void Process(std::span<const RawFrame> burst) {
    Prefetch(burst.first(std::min(burst.size(), kGroup)));
    std::array<Slot, kGroup>* coming = &groups_[0];
    std::array<Slot, kGroup>* going = &groups_[1];
    size_t waiting = 0;
    while (!burst.empty()) {
      const size_t taken = std::min(burst.size(), kGroup);
      Prefetch(burst.subspan(taken, std::min(burst.size() - taken, kGroup)));
      for (size_t i = 0; i < taken; ++i) Read(burst[i], (*coming)[i]);
      for (size_t i = 0; i < waiting; ++i) Count((*going)[i]);
      std::swap(coming, going);
      waiting = taken;
      burst = burst.subspan(taken);
    }
    for (size_t i = 0; i < waiting; ++i) Count((*going)[i]);
  }

  // Frames that were counted.
  uint64_t packets() const { return packets_; }
  // PSNs that were skipped, of all flows.
  uint64_t missing() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < entries_.size(); ++i) sum += entries_[i].missing;
    return sum;
  }
  size_t flows() const { return flows_; }

 private:
  static constexpr size_t kGroup = 8;

  struct Slot {
    RocePacket packet;
    size_t at;  // index of the entry, if no other flow is there
    bool plain;
  };

  static void Prefetch(std::span<const RawFrame> frames) {
    for (const RawFrame& frame : frames) {
      __builtin_prefetch(frame.bytes.data());
      __builtin_prefetch(frame.bytes.data() + 64);
      if (frame.bytes.size() > 128) __builtin_prefetch(frame.bytes.data() + 128);
    }
  }

  void Read(const RawFrame& raw, Slot& slot) {
    ErspanMark mark;
    slot.plain = ReadPlainRoce(raw, slot.packet, mark);
    if (!slot.plain) [[unlikely]]
      return;
    const RocePacket& packet = slot.packet;
    const uint64_t hash =
        MultiplyAndFold(packet.source.low ^ 0x9e3779b97f4a7c15ull,
                        (packet.destination.low ^ uint64_t{packet.destination_qpn.value} << 32) ^
                            0xd6e8feb86659fd93ull);
    slot.at = hash & (entries_.size() - 1);
    __builtin_prefetch(&entries_[slot.at], 1);
  }

  void Count(const Slot& slot) {
    if (!slot.plain) [[unlikely]]
      return;
    const RocePacket& packet = slot.packet;
    size_t at = slot.at;
    while (!IsOf(entries_[at], packet)) [[unlikely]] {
      if (entries_[at].packets == 0) {
        ++flows_;
        entries_[at] = {.source = packet.source,
                        .destination = packet.destination,
                        .destination_qpn = packet.destination_qpn.value,
                        .next_psn = packet.psn};
        break;
      }
      at = (at + 1) & (entries_.size() - 1);
    }
    Entry& entry = entries_[at];
    ++entry.packets;
    entry.bytes += packet.wire_length;
    entry.ce_marked += packet.Ecn() == wire::kEcnCe;
    // PSNs of responses and CNPs belong to other sequences.
    const bool request =
        !packet.Traits().Is(wire::kOpcodeResponse) && packet.Traits().Is(wire::kOpcodeSequenced);
    const uint32_t ahead = (packet.psn - entry.next_psn) & k24BitMask;
    const bool is_ahead = request & (ahead < 1u << 23);
    entry.missing += is_ahead ? ahead : 0;
    entry.next_psn = is_ahead ? (packet.psn + 1) & k24BitMask : entry.next_psn;
    ++packets_;
  }

  static bool IsOf(const Entry& entry, const RocePacket& packet) {
    return ((entry.source.low ^ packet.source.low) | (entry.source.high ^ packet.source.high) |
            (entry.destination.low ^ packet.destination.low) |
            (entry.destination.high ^ packet.destination.high) |
            (entry.destination_qpn ^ packet.destination_qpn.value) |
            uint64_t{entry.packets == 0}) == 0;
  }

  ZeroedArray<Entry> entries_;
  std::array<std::array<Slot, kGroup>, 2> groups_;
  size_t flows_ = 0;
  uint64_t packets_ = 0;
};

}  // namespace rocescope::perf
