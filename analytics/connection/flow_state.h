// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: the tracker's state for flows and host pairs. States refer to each other
// by index, so that they can be stored in flat vectors and reused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/connection/grant_ring.h"
#include "analytics/flow/flow_registry.h"
#include "base/hash.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct TrackedFlowHash {
  size_t operator()(const FlowKey& key) const {
    // IPv4 addresses differ only in the low half; IPv6 addresses of one fabric mostly do as well.
    uint64_t hash = Mix64(key.source.low + 0x9e3779b97f4a7c15ull * key.source.high);
    hash = HashCombine(hash, key.destination.low + 0x9e3779b97f4a7c15ull * key.destination.high);
    return HashCombine(hash, uint64_t{key.segment} << 24 | key.destination_qpn.value);
  }
};

// Identifies one incarnation of a flow. References held by other flows become stale when the flow
// restarts and are skipped, so a restart takes constant time.
struct FlowVersion {
  uint32_t flow = kNoFlow;
  uint32_t incarnation = 0;

  friend bool operator==(const FlowVersion&, const FlowVersion&) = default;
};

// A flow whose outstanding requests matched some of this flow's responses.
struct EchoCandidate {
  FlowVersion requester;
  uint32_t hits = 0;
  uint32_t trials_before = 0;  // responses before the candidate's first request
  uint32_t psn = 0;            // an example
  uint32_t age_us = 0;         // age of that request
  Timestamp response_time;
};

// A flow as observed by one tap. Times of different taps are never compared.
struct FlowAtTap {
  static constexpr size_t kCandidates = 8;

  FlowVersion version;
  uint32_t next = kNoFlow;  // the same flow at its next tap
  uint32_t channel = 0;     // this direction of the host pair at this tap
  uint32_t reverse_channel = 0;
  TapId tap = 0;
  // Whether the tap is at the first switch after the source; unset: no topology.
  std::optional<bool> near_source;
  uint8_t ttl = 0;  // TTL of the latest packet
  bool sends_requests = false;
  bool responded = false;
  // Highest request PSNs in flow records: in the latest interval, and before it.
  Timestamp psn_interval;
  std::optional<uint32_t> psn_now;
  std::optional<uint32_t> psn_before;
  uint32_t furthest_response = 0;  // PSN; ignores copies of a response
  uint32_t trials = 0;             // responses compared with requests of the opposite direction
  uint32_t ordered = 0;            // responses whose request is identified by packet order
  Duration usual_age{};            // moving mean of the age of the youngest matching request
  Timestamp first_request;
  Timestamp first_trial;
  std::vector<EchoCandidate> candidates;  // at most kCandidates elements
};

// A flow that wrote to a buffer granted by this flow.
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
  uint32_t pair = kNoFlow;  // kNoFlow: the entry is unused
  uint32_t position = 0;    // index among the pair's flows of its side
  uint32_t first_at_tap = kNoFlow;
  uint32_t incarnation = 0;  // never reused, not even by the next flow with this id

  // Valid across incarnations:
  Timestamp last_restart;
  std::optional<Timestamp> disconnected;
  bool known_outdated = false;  // the known pairs refer to an earlier incarnation
  bool restarted = false;
  // Closed because its partner restarted: its own sign of the restart is still expected.
  bool partner_restarted = false;

  uint8_t side = 0;  // side of the host pair

  // Valid for the current incarnation:
  bool active = false;     // carried a packet
  bool zero_seen = false;  // a request with PSN 0 at the start of a message was observed
  bool requested = false;
  ConnectionTransport transport = ConnectionTransport::kReliable;
  uint32_t last_request_psn = 0;
  uint32_t zero_rkey = 0;  // rkey in the RETH of that request
  uint64_t zero_address = 0;
  Timestamp first_seen;
  Timestamp last_seen;
  std::optional<Timestamp> began;  // first packet, if it was observed: PSN 0 or a restart
  std::unique_ptr<ManagementLink> management;  // null: no CM exchange was observed
  // Indices into KnownPairs of the pairs that contain this flow's number.
  std::vector<uint32_t> known;
  std::vector<GrantUse> uses;

  uint32_t managed_partner() const { return management ? management->partner : kNoFlow; }
};

struct HostPair {
  HostPairKey key;       // side 0 contains the flows from low to high
  uint64_t records = 0;  // number of records of the pair
  std::vector<uint32_t> flows[2];
  // Buffers granted by packets of each side.
  std::unique_ptr<GrantRing> grants[2];
  // Taps that observed the host pair, each with the index of the first of the pair's two channels
  // (one per direction) at that tap.
  std::vector<std::pair<TapId, uint32_t>> channels;
  bool changed = false;  // changed since the last answer

  uint8_t SideOf(const FlowKey& flow) const { return flow.source == key.low ? 0 : 1; }
  size_t flow_count() const { return flows[0].size() + flows[1].size(); }
  bool IsLoopback() const { return key.low == key.high; }
};

}  // namespace rocescope
