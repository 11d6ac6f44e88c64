// SPDX-License-Identifier: BSD-3-Clause
// What leaves the dataplane: plain structs in batches, no pointers into packet memory. The same
// records come out of a replay and of a live port.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/qpn.h"
#include "base/segment.h"
#include "base/time.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"
#include "dataplane/wire/int_metadata.h"
#include "dataplane/wire/mad.h"

namespace rocescope {

using TapId = uint16_t;  // index into the caller's table of taps

// One direction of a queue pair.
struct FlowKey {
  IpAddress source;
  IpAddress destination;
  Qpn destination_qpn;
  Segment segment = 0;

  friend constexpr auto operator<=>(const FlowKey&, const FlowKey&) = default;
};

// A small number that records of one flow at one tap share for a while: where a reader kept
// something of that flow, it will most likely find it there again. Never an identity.
inline constexpr uint32_t kNoFlowHint = UINT32_MAX;

enum class OperationClass : uint8_t {
  kSend,
  kWrite,
  kReadRequest,
  kReadResponse,
  kAtomic,
  kAcknowledge,  // ACK, NAK, atomic acknowledge
  kCnp,
  kDatagram,  // UD
  kCount,
};
inline constexpr size_t kOperationClassCount = static_cast<size_t>(OperationClass::kCount);

enum class NakKind : uint8_t {
  kReceiverNotReady,
  kSequenceError,
  kInvalidRequest,
  kRemoteAccess,
  kRemoteOperation,
  kOther,
  kCount,
};
inline constexpr size_t kNakKindCount = static_cast<size_t>(NakKind::kCount);

// Message sizes fall into bins with these upper bounds in octets, the last without a bound.
inline constexpr std::array<uint32_t, 7> kMessageSizeBounds = {256,   1024,   4096,   16384,
                                                               65536, 262144, 1048576};
inline constexpr size_t kMessageSizeBins = kMessageSizeBounds.size() + 1;

// What one PSN space (requests, or responses) showed in an interval. A gap is unseen until a NAK,
// a time-out or a re-send makes it fabric loss; else the mirror lost it.
struct PsnCounts {
  int32_t missing = 0;      // PSNs skipped, less those that came later: negative if they were
                           // skipped in an earlier interval, so that sums over intervals are right
  uint32_t reordered = 0;  // first copies that came after a later PSN, out of order or re-sent
                           // after a loss before this tap
  uint32_t retransmitted = 0;     // PSNs seen before: go-back-N, time-outs
  uint32_t restarts = 0;   // jumps and new beginnings: another incarnation of the QP, or a tap that
                           // was deaf for more than 65,536 PSNs; stops at 255
  bool valid = false;      // last_psn means something
  uint32_t last_psn = 0;   // furthest seen
};

struct DurationSummary {
  uint32_t count = 0;
  Duration sum{};
  Duration minimum{};  // of ack_round_trip alone
  Duration maximum{};  // of message_gap: rounded up to 64 ns, at most 275 s

  friend bool operator==(const DurationSummary&, const DurationSummary&) = default;
};

// A flow at a tap, as one TTL saw it, in one interval: a copy with another TTL is another hop of
// the same packets and has a record of its own. A flow that counts faster than the table's small
// counters can has several records in an interval, which add up.
struct FlowRecord {
  FlowKey flow;
  uint32_t hint = kNoFlowHint;
  TapId tap = 0;
  uint8_t ttl = 0;
  uint8_t dscp = 0;  // the last seen
  bool dscp_changed = false;
  uint16_t udp_source_port = 0;  // the last seen; more than one means path entropy or spraying
  uint16_t udp_source_port_changes = 0;  // stops at 65535
  Timestamp interval_start;
  Duration interval_width{};
  Timestamp first_seen;  // in the interval
  Timestamp last_seen;

  uint64_t packets = 0;        // copies of every class, re-sent ones too
  uint64_t bytes = 0;          // wire octets without FCS
  uint64_t payload_bytes = 0;  // of requests and read responses, first copies, with control
  std::array<uint32_t, kOperationClassCount> class_packets{};
  uint32_t hop_copies = 0;  // copies with another MAC address, of the same TTL

  uint32_t messages = 0;          // messages begun: SEND, WRITE, READ, ATOMIC, UD
  uint32_t control_messages = 0;  // of these, WRITEs that have the clear-to-send form
  uint64_t control_bytes = 0;     // their part of payload_bytes
  std::array<uint32_t, kMessageSizeBins> message_sizes{};

  PsnCounts requests;
  PsnCounts responses;

  std::array<uint32_t, kNakKindCount> naks{};
  uint8_t last_credits = 31;       // ACK credit code; 31: no end-to-end credits
  uint32_t ce_marked = 0;          // copies whose ECN field says congestion experienced
  uint32_t last_rkey = 0;          // of the last RETH
  uint32_t first_request_psn = 0;  // of the first request in the interval; see requests.valid
  bool began = false;              // the first request of a sequence was seen: PSN 0, or a restart
  DurationSummary ack_round_trip;  // from a request that asks for an ACK to the ACK, at this tap:
                                   // on the record of the ACK's flow
  DurationSummary message_gap;     // from a message's last packet to the next one's first
};

enum class ObservationKind : uint8_t {
  kRequest,
  kResponse,
  kAcknowledge,
  kNak,
  kCnp,
  kDatagram,
};

// One packet that the fabric-wide rule chose (flow/sighting.h).
struct ObservationRecord {
  FlowKey flow;
  uint32_t hint = kNoFlowHint;
  TapId tap = 0;
  ObservationKind kind = ObservationKind::kRequest;
  uint8_t opcode = 0;
  uint8_t ttl = 0;
  uint8_t rate_exponent = 0;  // k: chosen with probability 2^-k
  bool congestion_experienced = false;
  bool ack_request = false;
  bool has_reth = false;
  bool has_clear_to_send = false;
  uint8_t syndrome = 0;  // of an ACK or NAK
  uint32_t psn = 0;
  uint32_t msn = 0;  // of an ACK or NAK
  uint32_t payload_length = 0;
  Timestamp event_time;
  Timestamp arrival_time;
  uint64_t reth_address = 0;
  uint32_t reth_rkey = 0;
  uint32_t reth_length = 0;
  // A small WRITE's payload read as NCCL's clear-to-send: the address of the buffer it grants, and
  // the words where NCCL's releases keep its rkeys (octets 8 to 31, little-endian).
  uint64_t granted_address = 0;
  std::array<uint32_t, 6> granted_words{};
};

// A connection manager datagram.
struct ManagementRecord {
  TapId tap = 0;
  Segment segment = 0;
  IpAddress source;
  IpAddress destination;
  Timestamp event_time;
  Timestamp arrival_time;
  wire::CmMessage message;
};

// What a tap is known to have missed in an interval.
struct CoverageRecord {
  TapId tap = 0;
  Timestamp interval_start;
  Duration interval_width{};
  uint64_t mirror_lost = 0;       // gaps in the mirror's own sequence numbers
  uint64_t observations_capped = 0;  // sightings that the rate cap refused
  uint64_t flows_evicted = 0;
  uint64_t late_packets = 0;  // event time before the open interval
};

// The RoCE packet that a switch tells about, as far as it included the packet's front.
struct TelemetryPacket {
  bool known = false;  // else it had no such part, or was no RoCE packet
  FlowKey flow;
  uint8_t opcode = 0;
  uint8_t ttl = 0;
  uint8_t traffic_class = 0;  // DSCP << 2 | ECN
  uint32_t psn = 0;
};

// What one node says of one packet, by INT. A postcard makes one of these; a report with the
// stacked metadata of a path makes one for each hop, which then have hop_count > 1 and one packet.
struct HopRecord {
  TapId tap = 0;  // the capture or port by which the report came
  TelemetryPacket packet;
  uint32_t node_id = 0;
  uint8_t hop = 0;  // on the packet's way, 0 first
  uint8_t hop_count = 1;
  bool dropped = false;    // the node dropped the packet
  bool congested = false;  // a queue of its was congested
  bool tracked = false;    // the flow is on a watch list
  // Ports, latency (ns), queue and buffer (octets), timestamps; metadata.Has tells which are there.
  wire::IntMetadata metadata;
  // When the packet came to the node, or else left it, by the node's clock, if that is told and
  // within a second of the report's arrival; else the arrival.
  Timestamp event_time;
  Timestamp arrival_time;  // of the report
  bool event_time_told = false;
};

// A packet that an sFlow agent picked out, or told of because it was discarded.
struct SampleRecord {
  TapId tap = 0;
  IpAddress agent;
  uint32_t sub_agent = 0;
  uint32_t source_index = 0;   // the interface at which it was sampled, mostly
  uint32_t input_port = 0;     // ifIndex; 0: not known
  uint32_t output_port = 0;    // likewise; several, or none, is 0
  uint32_t sampling_rate = 0;  // stands for so many packets; 0 for a discarded one
  TelemetryPacket packet;
  uint32_t frame_length = 0;  // octets without frame check sequence
  uint16_t vlan = 0;          // as it came; 0: none, or not told
  bool discarded = false;
  uint32_t discard_reason = 0;  // wire::SflowDropReason
  bool has_queue = false;
  uint32_t queue_id = 0;
  bool has_queue_depth = false;
  uint32_t queue_depth = 0;  // octets in the queue when the packet came to it
  bool has_transit_delay = false;
  uint32_t transit_delay_ns = 0;  // in the switch; the largest value stands for itself and more
  Timestamp event_time;           // of arrival: sFlow has no times of packets
  Timestamp arrival_time;
};

struct CounterRecord {
  TapId tap = 0;  // means nothing for a line of counters.jsonl
  CounterEntity entity;
  Metric metric = Metric::kRxBytes;
  uint8_t bits = 64;  // where a counter wraps
  uint64_t value = 0;
  Timestamp event_time;  // when it was read, where that is told; else arrival
  Timestamp arrival_time;
};

struct RecordBatch {
  std::vector<FlowRecord> flows;
  std::vector<ObservationRecord> sightings;
  std::vector<ManagementRecord> management;
  std::vector<CoverageRecord> coverage;
  std::vector<HopRecord> hops;
  std::vector<SampleRecord> samples;
  std::vector<CounterRecord> counters;

  void Clear() {
    flows.clear();
    sightings.clear();
    management.clear();
    coverage.clear();
    hops.clear();
    samples.clear();
    counters.clear();
  }
  size_t size() const {
    return flows.size() + sightings.size() + management.size() + coverage.size() + hops.size() +
           samples.size() + counters.size();
  }
  bool empty() const { return size() == 0; }
};

}  // namespace rocescope
