// SPDX-License-Identifier: BSD-3-Clause
// Flow records summed up: what each direction of each queue pair carried, every packet counted once
// however many taps and hops showed it.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

// What one tap saw of a flow with one TTL; the sums of its records.
struct FlowStream {
  TapId tap = 0;
  uint8_t ttl = 0;
  uint8_t dscp = 0;
  bool dscp_changed = false;
  bool began = false;         // the sequence's first request was seen
  uint8_t last_credits = 31;  // of the last ACK; 31: none given
  uint16_t udp_source_port = 0;
  uint32_t udp_source_port_changes = 0;
  uint32_t last_rkey = 0;
  Timestamp first_seen;
  Timestamp last_seen;
  uint64_t packets = 0;
  uint64_t bytes = 0;          // wire octets without FCS
  uint64_t payload_bytes = 0;  // with control
  std::array<uint64_t, kOperationClassCount> class_packets{};
  uint64_t messages = 0;  // with control
  uint64_t control_messages = 0;
  uint64_t control_bytes = 0;
  uint64_t hop_copies = 0;
  std::array<uint64_t, kMessageSizeBins> message_sizes{};
  uint64_t unseen = 0;  // requests and responses together
  uint64_t reordered = 0;
  uint64_t resent = 0;
  uint64_t restarts = 0;
  std::array<uint64_t, kNakKindCount> naks{};
  uint64_t ce_marked = 0;
  DurationSummary ack_round_trip;
  DurationSummary message_gap;
};

// One direction of a queue pair.
struct FlowSummary {
  FlowKey flow;
  // The stream that showed most of it, with those of other TTLs at the same tap added that carry
  // other kinds of packets (a NIC may send CNPs with another TTL).
  FlowStream total;
  std::vector<FlowStream> streams;  // by tap and TTL

  uint64_t ClassPackets(OperationClass c) const {
    return total.class_packets[static_cast<size_t>(c)];
  }
  uint64_t DataBytes() const { return total.payload_bytes - total.control_bytes; }
};

class TrafficTotals {
 public:
  void Add(const FlowRecord& record);

  // By key.
  std::vector<FlowSummary> Summaries() const;

 private:
  struct StreamKey {
    FlowKey flow;
    TapId tap;
    uint8_t ttl;
    friend bool operator==(const StreamKey&, const StreamKey&) = default;
  };
  struct StreamKeyHash {
    size_t operator()(const StreamKey& key) const {
      uint64_t hash = HashCombine(FoldAddress(key.flow.source), FoldAddress(key.flow.destination));
      hash = HashCombine(hash, uint64_t{key.flow.segment} << 32 | key.flow.destination_qpn.value);
      return HashCombine(hash, uint64_t{key.tap} << 8 | key.ttl);
    }
  };

  uint32_t FindOrAdd(const FlowRecord& record);

  std::unordered_map<StreamKey, uint32_t, StreamKeyHash> index_;
  std::vector<uint32_t> by_hint_;    // streams; checked before they are believed
  std::vector<FlowKey> flows_;       // parallel to streams_
  std::vector<FlowStream> streams_;  // in order of first sight
};

}  // namespace rocescope
