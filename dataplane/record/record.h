// SPDX-License-Identifier: BSD-3-Clause
// The output of the dataplane: plain structs in batches, without pointers into packet memory.
// Replay and live ports produce the same records.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/qpn.h"
#include "base/segment.h"
#include "base/time.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/counter_group.h"
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

// Records of one flow at one tap share a hint, a small number, for some time. A reader can use it
// to find its state of the flow without a lookup. It does not identify the flow.
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

// Upper bounds in bytes of the message size bins; the last bin has none.
inline constexpr std::array<uint32_t, 7> kMessageSizeBounds = {256,   1024,   4096,   16384,
                                                               65536, 262144, 1048576};
inline constexpr size_t kMessageSizeBins = kMessageSizeBounds.size() + 1;

// Observations in one PSN space (requests or responses) during an interval. A gap counts as
// missing. It is fabric loss if a NAK, a timeout or a retransmission confirms it; otherwise the
// mirror lost the packets.
struct PsnCounts {
  // PSNs skipped minus those that arrived later. Negative if they were skipped in an earlier
  // interval, so that sums over intervals are correct.
  int32_t missing = 0;
  // First copies that arrived after a later PSN: reordered, or retransmitted after a loss upstream
  // of this tap.
  uint32_t reordered = 0;
  uint32_t retransmitted = 0;  // PSNs seen before: go-back-N or timeout retransmissions
  // New sequences: the QP was recreated, or the tap missed more than 65,536 PSNs; saturates at 255.
  uint32_t restarts = 0;
  bool valid = false;     // last_psn is valid
  uint32_t last_psn = 0;  // highest PSN seen
};

struct DurationSummary {
  uint32_t count = 0;
  Duration sum{};
  Duration minimum{};  // only valid for ack_round_trip
  Duration maximum{};  // only valid for message_gap; rounded up to 64 ns, saturates at 275 s

  friend bool operator==(const DurationSummary&, const DurationSummary&) = default;
};

// A flow at a tap with one TTL in one interval. Copies with another TTL are the same packets at
// another hop and have their own record. A flow whose small counters saturate has several records
// in an interval; their counters add up.
struct FlowRecord {
  FlowKey flow;
  uint32_t hint = kNoFlowHint;
  TapId tap = 0;
  uint8_t ttl = 0;
  uint8_t dscp = 0;  // DSCP of the last packet
  bool dscp_changed = false;
  // Value of the last packet; more than one value means path entropy or packet spraying.
  uint16_t udp_source_port = 0;
  uint16_t udp_source_port_changes = 0;  // saturates at 65535
  Timestamp interval_start;
  Duration interval_width{};
  Timestamp first_seen;  // within the interval
  Timestamp last_seen;

  uint64_t packets = 0;  // all copies, including retransmissions
  uint64_t bytes = 0;    // bytes on the wire without FCS
  // Of requests and READ responses, first copies only, including control messages.
  uint64_t payload_bytes = 0;
  std::array<uint32_t, kOperationClassCount> class_packets{};
  uint32_t hop_copies = 0;  // copies with the same TTL but another MAC address

  uint32_t messages = 0;          // messages started: SEND, WRITE, READ, ATOMIC, UD
  uint32_t control_messages = 0;  // of these, WRITEs in the form of NCCL's clear-to-send
  uint64_t control_bytes = 0;     // share of control messages in payload_bytes
  std::array<uint32_t, kMessageSizeBins> message_sizes{};

  PsnCounts requests;
  PsnCounts responses;

  std::array<uint32_t, kNakKindCount> naks{};
  uint8_t last_credits = 31;  // credit code of the last ACK; 31: no end-to-end credits
  uint32_t ce_marked = 0;     // copies marked CE (congestion experienced)
  uint32_t last_rkey = 0;     // of the last RETH
  // PSN of the first request in the interval; valid if requests.valid.
  uint32_t first_request_psn = 0;
  bool began = false;  // the first request of a sequence was seen: PSN 0, or a restart
  // From a request that asks for an ACK to the ACK, measured at this tap; on the record of the
  // ACK's flow.
  DurationSummary ack_round_trip;
  // From the last packet of a message to the first packet of the next one.
  DurationSummary message_gap;
};

enum class ObservationKind : uint8_t {
  kRequest,
  kResponse,
  kAcknowledge,
  kNak,
  kCnp,
  kDatagram,
};

// A packet observation: one packet selected by the fabric-wide hash rule (flow/observation.h).
struct ObservationRecord {
  FlowKey flow;
  uint32_t hint = kNoFlowHint;
  TapId tap = 0;
  ObservationKind kind = ObservationKind::kRequest;
  uint8_t opcode = 0;
  uint8_t ttl = 0;
  uint8_t rate_exponent = 0;  // k: selected with probability 2^-k
  bool congestion_experienced = false;
  bool ack_request = false;
  bool has_reth = false;
  bool has_clear_to_send = false;
  uint8_t syndrome = 0;  // ACK and NAK only
  uint32_t psn = 0;
  uint32_t msn = 0;  // ACK and NAK only
  uint32_t payload_length = 0;
  Timestamp event_time;
  Timestamp arrival_time;
  uint64_t reth_address = 0;
  uint32_t reth_rkey = 0;
  uint32_t reth_length = 0;
  // The payload of a small WRITE interpreted as NCCL's clear-to-send: the address of the granted
  // buffer, and the words in which NCCL's releases keep its rkeys (bytes 8 to 31, little-endian).
  uint64_t granted_address = 0;
  std::array<uint32_t, 6> granted_words{};
};

// A connection management (CM) message.
struct ManagementRecord {
  TapId tap = 0;
  Segment segment = 0;
  IpAddress source;
  IpAddress destination;
  Timestamp event_time;
  Timestamp arrival_time;
  wire::CmMessage message;
};

// Known losses of records and copies at a tap in an interval.
struct CoverageRecord {
  TapId tap = 0;
  Timestamp interval_start;
  Duration interval_width{};
  uint64_t mirror_lost = 0;  // lost copies according to gaps in the mirror's sequence numbers
  uint64_t observations_capped = 0;  // packet observations that the rate limit dropped
  uint64_t flows_evicted = 0;
  uint64_t late_packets = 0;  // packets with an event time before the open interval
};

// The RoCE packet that a switch reports, as far as the report includes the packet's headers.
struct TelemetryPacket {
  bool known = false;  // false: the report contains no packet, or the packet is not RoCE
  FlowKey flow;
  uint8_t opcode = 0;
  uint8_t ttl = 0;
  uint8_t traffic_class = 0;  // DSCP << 2 | ECN
  uint32_t psn = 0;
};

// INT metadata of one node for one packet. A postcard yields one record. A report with the metadata
// stack of a path yields one record per hop, with hop_count > 1 and the same packet.
struct HopRecord {
  TapId tap = 0;  // the capture or port that received the report
  TelemetryPacket packet;
  uint32_t node_id = 0;
  uint8_t hop = 0;  // position on the packet's path, starting at 0
  uint8_t hop_count = 1;
  bool dropped = false;    // the node dropped the packet
  bool congested = false;  // a queue of the node was congested
  bool tracked = false;    // the flow is on a watch list
  // Ports, latency (ns), queue and buffer occupancy (bytes), and timestamps. metadata.Has tests
  // which are present.
  wire::IntMetadata metadata;
  // When the packet entered the node, or if unknown left it, by the node's clock. If the node
  // reports neither, or a time more than a second away from the report's arrival, this is the
  // arrival time.
  Timestamp event_time;
  Timestamp arrival_time;  // arrival of the report
  bool event_time_told = false;
};

// A packet that an sFlow agent sampled, or reported because it was discarded.
struct SampleRecord {
  TapId tap = 0;
  IpAddress agent;
  uint32_t sub_agent = 0;
  uint32_t source_index = 0;   // usually the interface at which it was sampled
  uint32_t input_port = 0;     // ifIndex; 0: unknown
  uint32_t output_port = 0;    // ifIndex; 0: unknown, none or several
  uint32_t sampling_rate = 0;  // number of packets that the sample represents; 0 if discarded
  TelemetryPacket packet;
  uint32_t frame_length = 0;  // bytes without FCS
  uint16_t vlan = 0;          // VLAN ID on ingress; 0: none or not reported
  bool discarded = false;
  uint32_t discard_reason = 0;  // wire::SflowDropReason
  bool has_queue = false;
  uint32_t queue_id = 0;
  bool has_queue_depth = false;
  uint32_t queue_depth = 0;  // bytes in the queue when the packet arrived
  bool has_transit_delay = false;
  uint32_t transit_delay_ns = 0;  // time in the switch; the maximum value means that value or more
  Timestamp event_time;           // arrival time, because sFlow has no packet timestamps
  Timestamp arrival_time;
};

struct CounterRecord {
  TapId tap = 0;  // unused for counters.jsonl
  CounterEntity entity;
  Metric metric = Metric::kRxBytes;
  uint8_t bits = 64;  // width of the counter, at which it wraps
  uint64_t value = 0;
  Timestamp event_time;  // time of the reading if it is reported, otherwise the arrival time
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
  std::vector<ReadingRecord> readings;
  std::vector<uint64_t> reading_values;

  void Clear() {
    flows.clear();
    sightings.clear();
    management.clear();
    coverage.clear();
    hops.clear();
    samples.clear();
    counters.clear();
    readings.clear();
    reading_values.clear();
  }
  std::span<const uint64_t> ValuesOf(const ReadingRecord& reading) const {
    return std::span(reading_values).subspan(reading.first, reading.group->metrics.size());
  }
  size_t size() const {
    return flows.size() + sightings.size() + management.size() + coverage.size() + hops.size() +
           samples.size() + counters.size() + readings.size();
  }
  bool empty() const { return size() == 0; }
};

}  // namespace rocescope
