// SPDX-License-Identifier: BSD-3-Clause
// What the tracker keeps of flows and host pairs. Internal to this folder. Everything refers to
// everything by index, so that states can be stored in flat vectors and reused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/connection/grant_ring.h"
#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

inline constexpr uint32_t kNoFlow = UINT32_MAX;

struct TrackedFlowHash {
  size_t operator()(const FlowKey& key) const {
    // IPv4 differs in the low halves only; IPv6 hosts of a fabric mostly too.
    uint64_t hash = Mix64(key.source.low + 0x9e3779b97f4a7c15ull * key.source.high);
    hash = HashCombine(hash, key.destination.low + 0x9e3779b97f4a7c15ull * key.destination.high);
    return HashCombine(hash, uint64_t{key.segment} << 24 | key.destination_qpn.value);
  }
};

// What is said of another flow holds for one incarnation of it. When it restarts, what others
// remember of it stays where it is and is passed over: a restart costs the same whatever the number
// of flows.
struct FlowVersion {
  uint32_t flow = kNoFlow;
  uint32_t incarnation = 0;

  friend bool operator==(const FlowVersion&, const FlowVersion&) = default;
};

// A flow whose outstanding requests matched some of this flow's responses.
struct EchoCandidate {
  FlowVersion requester;
  uint32_t hits = 0;
  uint32_t trials_before = 0;  // responses before the candidate began to send
  uint32_t psn = 0;            // an example
  uint32_t age_us = 0;         // of its request
  Timestamp response_time;
};

// A flow as one tap sees it. Times of different taps are never compared.
struct FlowAtTap {
  static constexpr size_t kCandidates = 8;

  FlowVersion version;
  uint32_t next = kNoFlow;  // the flow at its next tap
  uint32_t channel = 0;     // this direction of the host pair at this tap
  uint32_t reverse_channel = 0;
  TapId tap = 0;
  // Whether the tap is at its source's first switch; unset: nobody says what the fabric is.
  std::optional<bool> near_source;
  uint8_t ttl = 0;  // of its packets, the last seen
  bool sends_requests = false;
  bool responded = false;
  // Furthest request PSNs that flow records gave: of the latest interval, and before it.
  Timestamp psn_interval;
  std::optional<uint32_t> psn_now;
  std::optional<uint32_t> psn_before;
  uint32_t furthest_response = 0;  // PSN; a response counts once, whatever copies there are
  uint32_t trials = 0;             // responses compared with the requests of the other direction
  uint32_t ordered = 0;            // responses where the order tells which request is meant
  Duration usual_age{};            // moving mean of the youngest matching request's age
  Timestamp first_request;
  Timestamp first_trial;
  std::vector<EchoCandidate> candidates;  // at most kCandidates
};

// A flow that wrote to a buffer which this flow had granted.
struct GrantUse {
  FlowVersion user;
  uint32_t count = 0;
  TapId tap = 0;
  uint64_t address = 0;  // an example
  uint32_t rkey = 0;
  Timestamp granted;
  Timestamp used;
};

struct ManagementLink {
  uint32_t partner = kNoFlow;  // flow
  TapId tap = 0;
  Timestamp request;
  Timestamp reply;
  uint32_t comm_ids[2]{};
};

struct FlowState {
  FlowKey key;
  uint32_t pair = kNoFlow;
  uint32_t position = 0;  // among the pair's flows of its side
  uint32_t first_at_tap = kNoFlow;
  uint32_t incarnation = 0;  // never used twice, also not by the next flow in this place

  // Across incarnations:
  Timestamp last_restart;
  std::optional<Timestamp> disconnected;
  bool known_outdated = false;  // the known pairs were told of an earlier incarnation
  bool restarted = false;
  bool partner_restarted = false;  // closed with its partner: its own sign is still to come

  uint8_t side = 0;  // of the pair

  // Of the present incarnation:
  bool active = false;     // carried a packet
  bool zero_seen = false;  // a request with PSN 0 that begins a message
  bool requested = false;
  ConnectionTransport transport = ConnectionTransport::kReliable;
  uint32_t last_request_psn = 0;
  uint32_t zero_rkey = 0;  // of its RETH
  uint64_t zero_address = 0;
  Timestamp first_seen;
  Timestamp last_seen;
  Timestamp heard;                 // by FlowStore's clock, which is one for all taps
  std::optional<Timestamp> began;  // its first packet, if that was seen: PSN 0, or a restart
  std::unique_ptr<ManagementLink> management;  // null: no exchange was seen
  std::vector<uint32_t> known;                 // of KnownPairs, that name this flow's number
  std::vector<GrantUse> uses;

  uint32_t managed_partner() const { return management ? management->partner : kNoFlow; }
};

struct HostPair {
  HostPairKey key;       // side 0 holds the flows from low to high
  uint64_t records = 0;  // that it was touched by
  std::vector<uint32_t> flows[2];
  // Buffers granted by packets of that side.
  std::unique_ptr<GrantRing> grants[2];
  // Taps that saw the pair, and the first of its two channels there.
  std::vector<std::pair<TapId, uint32_t>> channels;
  bool changed = false;  // since the last answer

  uint8_t SideOf(const FlowKey& flow) const { return flow.source == key.low ? 0 : 1; }
  size_t flow_count() const { return flows[0].size() + flows[1].size(); }
  bool IsLoopback() const { return key.low == key.high; }
};

}  // namespace rocescope
