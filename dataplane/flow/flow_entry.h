// SPDX-License-Identifier: BSD-3-Clause
// The state of a flow at a tap in the flow table: four cache lines. Every packet uses the first
// two; CE marks and the first and last packets of messages use the third; responses and ACKs use
// the fourth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/flow/psn_tracker.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum FlowEntryFlag : uint16_t {
  // Had a packet in an interval whose record is not yet emitted, and is in that interval's list.
  // Two flags alternate between intervals, so that the records of the last interval can be emitted
  // while the next one is open.
  kFlowActive = 1 << 0,
  kFlowActiveToo = 1 << 9,
  kFlowDscpChanged = 1 << 1,
  kFlowMessageEnded = 1 << 2,   // message_end_ns is valid
  kFlowReadPending = 1 << 3,    // pending_length is the length of a READ whose PSNs are reserved
  kFlowSequenceBegan = 1 << 4,  // in the open interval
  kFlowRequestSeen = 1 << 5,    // in the open interval: first_request_psn is valid
  kFlowDatagrams = 1 << 6,      // a UD queue pair: its SENDs are datagrams of many senders
  kFlowZeroKnown = 1 << 7,      // zero_memory is valid
  kFlowCounterFull = 1 << 8,    // a small counter is full: the record must be emitted
};

inline constexpr int64_t kGapUnitNs = 64;

// Packs what identifies a flow at a tap, apart from addresses and segment, into one word, together
// with the DSCP, which can change: bits 0 to 23 QPN, 24 to 31 TTL, 32 to 47 tap, 48 to 53 DSCP, bit
// 63 set. Unused entries have zero.
constexpr uint64_t IdentityOf(Qpn qpn, uint8_t ttl, TapId tap, uint8_t dscp) {
  return uint64_t{qpn.value} | uint64_t{ttl} << 24 | uint64_t{tap} << 32 | uint64_t{dscp} << 48 |
         uint64_t{1} << 63;
}
inline constexpr uint64_t kDscpInIdentity = uint64_t{0x3f} << 48;

struct alignas(64) FlowEntry {
  // Cache line 0: identity, volume, times. Counters cover the open interval.
  IpAddress source;
  IpAddress destination;
  uint64_t identity;
  Segment segment;
  uint16_t flags;  // FlowEntryFlag
  uint16_t udp_source_port_changes;
  uint64_t bytes;
  int64_t last_seen_ns;

  // Cache line 1: requests.
  PsnTracker requests;
  uint64_t payload_bytes;
  std::array<uint32_t, kOperationClassCount - 1> class_packets;  // UD shares the counter of SEND
  uint16_t udp_source_port;
  uint16_t mac_signature;  // MAC signature of the latest first copy

  // Cache line 2: messages and CE marks.
  uint32_t first_request_psn : 24;
  uint32_t zero_memory : 8;  // eight bits derived from the rkey of the message that began at PSN 0
  uint32_t messages;
  uint32_t last_rkey;
  uint32_t pending_length;  // length of a READ, or bytes so far of a SEND in progress
  int64_t message_end_ns;
  uint64_t gap_sum_ns;
  uint32_t gap_count;
  uint32_t gap_maximum;  // in units of 64 ns, rounded up; saturates at 275 s
  std::array<uint16_t, kMessageSizeBins> message_sizes;
  uint32_t ce_marked;
  uint32_t first_seen_offset_ns;  // offset from the start of the open interval; saturates at 4.29 s

  // Cache line 3: responses, ACKs and NAKs.
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
