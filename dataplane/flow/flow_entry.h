// SPDX-License-Identifier: BSD-3-Clause
// What the table keeps of a flow at a tap: four cache lines. The first two serve every packet, the
// third marks and the beginnings and ends of messages, the fourth responses and what they tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/flow/psn_tracker.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum FlowEntryFlag : uint16_t {
  // Saw a packet in an interval whose record is still due, and is on that one's list. Intervals
  // take turns with the two, so that the last one can be told of while the next one is open.
  kFlowActive = 1 << 0,
  kFlowActiveToo = 1 << 9,
  kFlowDscpChanged = 1 << 1,
  kFlowMessageEnded = 1 << 2,   // message_end_ns means something
  kFlowReadPending = 1 << 3,    // pending_length is that of a READ whose PSNs are reserved
  kFlowSequenceBegan = 1 << 4,  // in the open interval
  kFlowRequestSeen = 1 << 5,    // in the open interval: first_request_psn means something
  kFlowDatagrams = 1 << 6,      // a UD queue pair: SENDs are datagrams of many senders
  kFlowZeroKnown = 1 << 7,      // zero_memory means something
  kFlowCounterFull = 1 << 8,    // a small counter reached its end: the record is due
};

inline constexpr int64_t kGapUnitNs = 64;

// A flow at a tap beside its addresses and segment, in one word; the DSCP, which may change, too:
// bits 0 to 23 the QPN, 24 to 31 the TTL, 32 to 47 the tap, 48 to 53 the DSCP, 63 one. An entry
// that is not in use has zero.
constexpr uint64_t IdentityOf(Qpn qpn, uint8_t ttl, TapId tap, uint8_t dscp) {
  return uint64_t{qpn.value} | uint64_t{ttl} << 24 | uint64_t{tap} << 32 | uint64_t{dscp} << 48 |
         uint64_t{1} << 63;
}
inline constexpr uint64_t kDscpInIdentity = uint64_t{0x3f} << 48;

struct alignas(64) FlowEntry {
  // Line 0: who, how much, when. Counters are those of the open interval.
  IpAddress source;
  IpAddress destination;
  uint64_t identity;
  Segment segment;
  uint16_t flags;  // FlowEntryFlag
  uint16_t udp_source_port_changes;
  uint64_t bytes;
  int64_t last_seen_ns;

  // Line 1: requests.
  PsnTracker requests;
  uint64_t payload_bytes;
  std::array<uint32_t, kOperationClassCount - 1> class_packets;  // UD shares the place of SEND
  uint16_t udp_source_port;
  uint16_t mac_signature;  // of the last first copy

  // Line 2: messages, and marks.
  uint32_t first_request_psn : 24;
  uint32_t zero_memory : 8;  // of the message that began at PSN 0: eight bits made of its rkey
  uint32_t messages;
  uint32_t last_rkey;
  uint32_t pending_length;  // of a READ, or what a SEND in progress has carried so far
  int64_t message_end_ns;
  uint64_t gap_sum_ns;
  uint32_t gap_count;
  uint32_t gap_maximum;  // in units of 64 ns, rounded up; stops at 275 s
  std::array<uint16_t, kMessageSizeBins> message_sizes;
  uint32_t ce_marked;
  uint32_t first_seen_offset_ns;  // from the start of the open interval; stops at 4.29 s

  // Line 3: responses and what comes back.
  PsnTracker responses;
  uint32_t round_trip_count;
  uint32_t round_trip_minimum_ns;
  uint64_t round_trip_sum_ns;
  uint32_t round_trip_maximum_ns;
  uint32_t peer;  // index of the flow whose requests this one acknowledges
  std::array<uint8_t, kNakKindCount> naks;
  uint8_t peer_score;  // Boyer-Moore majority vote on `peer`
  uint8_t credits;
  uint32_t control_bytes;
  uint16_t control_messages;
  uint16_t hop_copies;

  bool InUse() const { return identity != 0; }
  Qpn DestinationQpn() const { return {static_cast<uint32_t>(identity) & k24BitMask}; }
  uint8_t Ttl() const { return static_cast<uint8_t>(identity >> 24); }
  TapId Tap() const { return static_cast<TapId>(identity >> 32); }
  uint8_t Dscp() const { return static_cast<uint8_t>(identity >> 48 & 0x3f); }
  FlowKey Key() const {
    return {.source = source,
            .destination = destination,
            .destination_qpn = DestinationQpn(),
            .segment = segment};
  }
};
static_assert(sizeof(FlowEntry) == 256);
static_assert(offsetof(FlowEntry, requests) == 64);
static_assert(offsetof(FlowEntry, first_seen_offset_ns) == 188);
static_assert(offsetof(FlowEntry, responses) == 192);

}  // namespace rocescope
