// SPDX-License-Identifier: BSD-3-Clause
// Counts of what a flow carried.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/record/record.h"

namespace rocescope {

// The counts that every flow has.
struct FlowOutline {
  // From the latest packets.
  uint8_t ttl = 0;
  uint8_t dscp = 0;
  bool dscp_changed = false;
  bool began = false;         // the first request of the sequence was observed
  uint8_t last_credits = 31;  // credits in the last ACK; 31: none given
  uint16_t udp_source_port = 0;
  uint32_t udp_source_port_changes = 0;
  uint32_t last_rkey = 0;
  Timestamp first_seen;
  Timestamp last_seen;
  uint64_t packets = 0;
  uint64_t bytes = 0;          // bytes on the wire without FCS
  uint64_t payload_bytes = 0;  // including control messages

  // Adds later counts of the same flow; `has_acks` is whether they contain ACKs.
  void Add(const FlowOutline& later, bool has_acks);

  friend bool operator==(const FlowOutline&, const FlowOutline&) = default;
};

struct FlowCounts : FlowOutline {
  std::array<uint64_t, kOperationClassCount> class_packets{};
  uint64_t messages = 0;  // including control messages
  uint64_t control_messages = 0;
  uint64_t control_bytes = 0;
  uint64_t hop_copies = 0;
  std::array<uint64_t, kMessageSizeBins> message_sizes{};
  uint64_t missing =
      0;  // requests and responses; modulo 2^64, because an interval's value may be negative
  uint64_t reordered = 0;
  uint64_t retransmitted = 0;
  uint64_t restarts = 0;
  std::array<uint64_t, kNakKindCount> naks{};
  uint64_t ce_marked = 0;
  DurationSummary ack_round_trip;
  DurationSummary message_gap;

  uint64_t ClassPackets(OperationClass c) const { return class_packets[static_cast<size_t>(c)]; }
  uint64_t DataBytes() const { return payload_bytes - control_bytes; }
  uint64_t Naks() const;
  // Packets of all classes except retransmissions and copies at other hops.
  uint64_t FirstCopies() const;
  // First copies with a sequence number: excludes ACKs, CNPs and datagrams.
  uint64_t SequencedCopies() const;

  // Adds later counts of the same flow.
  FlowCounts& operator+=(const FlowCounts& later);

  friend bool operator==(const FlowCounts&, const FlowCounts&) = default;
};

FlowCounts CountsOf(const FlowRecord& record);

void AddTo(DurationSummary& to, const DurationSummary& from);

}  // namespace rocescope
