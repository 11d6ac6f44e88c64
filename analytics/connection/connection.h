// SPDX-License-Identifier: BSD-3-Clause
// Results of the connection analysis: which two flows are the two directions of a queue pair
// connection, with confidence and evidence.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analytics/chunks/chunks.h"
#include "base/address.h"
#include "base/qpn.h"
#include "base/segment.h"
#include "base/time.h"
#include "dataplane/record/record.h"

namespace rocescope {

// One end of a connection. Its queue pair number is known once a packet *to* it was observed or a
// trusted source reported it.
struct ConnectionEndpoint {
  Segment segment = 0;
  IpAddress address;
  std::optional<Qpn> qpn;

  friend auto operator<=>(const ConnectionEndpoint&, const ConnectionEndpoint&) = default;
};

// A pair reported by a source outside the fabric. Hosts do not know their segment in the fabric:
// the pair belongs to the segment in which its packets appear.
enum class KnownPairSource : uint8_t { kRdmaResource, kNcclLog };

struct KnownEnd {
  IpAddress address;
  Qpn qpn;
};

struct KnownPair {
  KnownEnd a;
  KnownEnd b;
  KnownPairSource source = KnownPairSource::kRdmaResource;
  // If unset, the connection starts with the first packet with PSN 0 or, if there is none, with the
  // first packet observed.
  std::optional<Timestamp> valid_from;
};

// A queue pair as reported by its host's kernel. The kernel does not report the remote address. It
// is the source of the packets to `local`, if the kernel of that host reports the reverse pair.
struct KnownQueuePair {
  IpAddress address;
  Qpn local;
  Qpn remote;
};

// Most trusted first.
enum class EvidenceKind : uint8_t {
  kManagement,    // a CM exchange
  kRdmaResource,  // `rdma resource show qp`
  kNcclLog,
  kRethEcho,  // a WRITE used an address and rkey that a WRITE in the opposite direction had granted
  kPsnEcho,   // responses repeat the PSNs of requests
};

struct ConnectionEvidence {
  EvidenceKind kind = EvidenceKind::kPsnEcho;
  uint64_t count = 0;  // number of observations
  uint64_t of = 0;     // PSN echo: number of responses that could have shown it
  // RETH and PSN echo: the end (index into Connection::endpoints) that sent the echo, which is the
  // WRITE or the response.
  uint8_t echoed_by = 0;
  // An example. `cause` is the ConnectRequest, grant or request and `echo` is the ConnectReply,
  // WRITE or response. They may come from different taps with different clocks, except for a PSN
  // echo.
  TapId tap = 0;  // tap that observed the echo
  Timestamp cause_time{};
  Timestamp echo_time{};
  uint32_t psn = 0;        // PSN echo only
  uint64_t address = 0;    // RETH echo only
  uint32_t rkey = 0;       // RETH echo only
  uint32_t comm_ids[2]{};  // CM only: communication IDs of the requester and the replier

  friend bool operator==(const ConnectionEvidence&, const ConnectionEvidence&) = default;
};

struct ConnectionCandidate {
  Qpn qpn;               // queue pair at the other end's address
  double posterior = 0;  // 0 to 1; the rest is the probability of another or an unobserved flow

  friend bool operator==(const ConnectionCandidate&, const ConnectionCandidate&) = default;
};

enum class ConnectionState : uint8_t {
  kPaired,     // both ends are known
  kAmbiguous,  // there are candidates, possibly only one, but none with sufficient confidence
  kOneSided,   // only one direction was observed, or there is no evidence for its partner
};

enum class ConnectionTransport : uint8_t { kReliable, kUnreliable };

struct Connection {
  // Paired: ascending. Otherwise endpoints[0] is the end with a known number (the destination of
  // the packets) and endpoints[1] the peer's address without a number.
  std::array<ConnectionEndpoint, 2> endpoints;
  ConnectionState state = ConnectionState::kOneSided;
  ConnectionTransport transport = ConnectionTransport::kReliable;
  double confidence = 0;  // confidence that the pairing is right; 0 unless paired
  std::vector<ConnectionEvidence> evidence;     // most trusted first
  std::vector<ConnectionCandidate> candidates;  // if ambiguous: most likely first
  // Connections with the same non-zero number carry one message stream: all of them write to
  // buffers granted on any of them. The numbers are only valid within one answer (see
  // StripeNumbers).
  uint32_t stripe_group = 0;
  // A queue pair number can have several owners in succession. A connection is one incarnation of
  // its flows with the packets in [valid_from, valid_until). See FlowCut.
  Timestamp valid_from;
  bool beginning_seen = false;  // valid_from is the time of a CM exchange or of a packet with PSN 0
  std::optional<Timestamp> valid_until;  // unset: still open
  Timestamp last_seen;

  friend bool operator==(const Connection&, const Connection&) = default;
};

// A pair of host addresses. All connections of a pair are computed together.
struct HostPairKey {
  Segment segment = 0;
  IpAddress low;
  IpAddress high;

  friend auto operator<=>(const HostPairKey&, const HostPairKey&) = default;
};

inline HostPairKey HostPairOf(const Connection& connection) {
  const auto& [a, b] = connection.endpoints;
  return {.segment = a.segment,
          .low = std::min(a.address, b.address),
          .high = std::max(a.address, b.address)};
}

// Sorted by host pair, then endpoints and start.
using ConnectionList = Chunks<Connection>;

// Renumbers the stripe groups of an answer from 1 in order of first occurrence.
class StripeNumbers {
 public:
  uint32_t Of(const Connection& connection) {
    if (connection.stripe_group == 0) return 0;
    return numbers_.try_emplace(connection.stripe_group, static_cast<uint32_t>(numbers_.size() + 1))
        .first->second;
  }

 private:
  std::unordered_map<uint32_t, uint32_t> numbers_;
};

// Counts of data that was ignored or dropped, which may weaken an answer.
struct ConnectionStatistics {
  uint64_t datagrams = 0;  // UD and QP1 packets, which have no connection
  // Packets and records dropped because the flow table or the host pair was full.
  uint64_t flows_refused = 0;
  uint64_t flows_evicted = 0;       // idle flows that new ones replaced
  uint64_t requests_evicted = 0;    // outstanding PSNs evicted by others
  uint64_t candidates_dropped = 0;  // candidate partners replaced by better ones
  uint64_t responses_tied = 0;  // responses ignored because too many flows had the PSN outstanding
  uint64_t grants_dropped = 0;  // clear-to-sends overwritten before they were used
  uint64_t grants_ambiguous = 0;  // WRITEs to an address that several flows had granted
  uint64_t restarts = 0;          // connections closed because a new incarnation started
  // Signs of a restart ignored because they followed another restart closely.
  uint64_t restarts_ignored = 0;
  uint64_t management_unmatched = 0;  // CM messages without their counterpart
  uint64_t closed_dropped = 0;        // closed connections that are no longer reported
  uint64_t flows_expired = 0;         // flows forgotten after a long idle time
  uint64_t known_refused = 0;         // known pairs beyond the limit, or several for one number
  // Known pairs ignored because their packets appear in several segments.
  uint64_t known_ambiguous = 0;
  // Work done: the number of flows of all host pairs that were matched because one of the pair's
  // flows restarted.
  uint64_t flows_matched_to_close = 0;
};

}  // namespace rocescope
