// SPDX-License-Identifier: BSD-3-Clause
// The answer of the connection analysis: which two flows are the two directions of one queue pair
// connection, how sure that is and why.
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

// One end of a connection. The queue pair number is known once a packet *to* it was seen or a
// trusted source named it.
struct ConnectionEndpoint {
  Segment segment = 0;
  IpAddress address;
  std::optional<Qpn> qpn;

  friend auto operator<=>(const ConnectionEndpoint&, const ConnectionEndpoint&) = default;
};

// A pair that somebody outside the fabric states. Hosts do not know the segment that the fabric
// carries them in: the pair belongs to the one where its packets show up.
enum class KnownPairSource : uint8_t { kRdmaResource, kNcclLog };

struct KnownEnd {
  IpAddress address;
  Qpn qpn;
};

struct KnownPair {
  KnownEnd a;
  KnownEnd b;
  KnownPairSource source = KnownPairSource::kRdmaResource;
  std::optional<Timestamp> valid_from;  // unset: the first packet with PSN 0, else the first seen
};

// What a host's kernel says of a queue pair of its own. It does not say where the other end is:
// that is where packets to `local` come from, if the kernel there says the same the other way
// round.
struct KnownQueuePair {
  IpAddress address;
  Qpn local;
  Qpn remote;
};

// In order of trust.
enum class EvidenceKind : uint8_t {
  kManagement,    // a CM exchange
  kRdmaResource,  // `rdma resource show qp`
  kNcclLog,
  kRethEcho,  // a WRITE used the address and rkey that a WRITE the other way had granted
  kPsnEcho,   // responses repeat the PSNs of requests
};

struct ConnectionEvidence {
  EvidenceKind kind = EvidenceKind::kPsnEcho;
  uint64_t count = 0;  // how often it was seen
  uint64_t of = 0;     // PSN echo: out of so many responses that could have shown it
  // RETH and PSN echo: the end (of Connection::endpoints) whose packets showed the echo, the WRITE
  // or the response.
  uint8_t echoed_by = 0;
  // One example. `cause` is the ConnectRequest, grant or request, `echo` the ConnectReply, WRITE or
  // response; the two may come from different taps, whose clocks differ, except for a PSN echo.
  TapId tap = 0;  // of the echo
  Timestamp cause_time{};
  Timestamp echo_time{};
  uint32_t psn = 0;        // PSN echo
  uint64_t address = 0;    // RETH echo
  uint32_t rkey = 0;       // RETH echo
  uint32_t comm_ids[2]{};  // CM: the requester's and the replier's

  friend bool operator==(const ConnectionEvidence&, const ConnectionEvidence&) = default;
};

struct ConnectionCandidate {
  Qpn qpn;               // at the other end's address
  double posterior = 0;  // 0 to 1; what is missing to 1 is "another, or a flow nobody saw"

  friend bool operator==(const ConnectionCandidate&, const ConnectionCandidate&) = default;
};

enum class ConnectionState : uint8_t {
  kPaired,     // both ends are known
  kAmbiguous,  // candidates fit, none of them well enough to be stated: perhaps just one
  kOneSided,   // one direction seen, or nothing tells its partner
};

enum class ConnectionTransport : uint8_t { kReliable, kUnreliable };

struct Connection {
  // Paired: in ascending order. Else endpoints[0] is the end whose number is known (packets go to
  // it) and endpoints[1] the peer's address without a number.
  std::array<ConnectionEndpoint, 2> endpoints;
  ConnectionState state = ConnectionState::kOneSided;
  ConnectionTransport transport = ConnectionTransport::kReliable;
  double confidence = 0;                        // that this pairing is right; 0 unless paired
  std::vector<ConnectionEvidence> evidence;     // in order of trust
  std::vector<ConnectionCandidate> candidates;  // ambiguous: the best first
  // Connections with the same number other than 0 share one stream of messages: the buffers that
  // one of them grants are written over all of them. Numbers hold within one answer only, and say
  // nothing else (StripeNumbers).
  uint32_t stripe_group = 0;
  // A queue pair number has several owners one after the other. A connection is one incarnation of
  // its flows: their packets from valid_from to before valid_until. See FlowCut.
  Timestamp valid_from;
  bool beginning_seen = false;           // valid_from is a CM exchange or a packet with PSN 0
  std::optional<Timestamp> valid_until;  // unset: still open
  Timestamp last_seen;

  friend bool operator==(const Connection&, const Connection&) = default;
};

// Two hosts' addresses: all connections between them are worked out together.
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

// By host pair, then endpoints and beginning.
using ConnectionList = Chunks<Connection>;

// Numbers of groups of stripes in place of those in an answer: 1 and up, by first occurrence.
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

// From `time` on, packets of the flow belong to another owner of its queue pair number. A
// connection that ended with it has this very time as its valid_until.
struct FlowCut {
  FlowKey flow;
  Timestamp time;
};

// What was left out, and why an answer may be weaker than the traffic would allow.
struct ConnectionStatistics {
  uint64_t datagrams = 0;             // UD and QP1 packets: no connections
  uint64_t flows_refused = 0;         // packets and records: the flow table or host pair was full
  uint64_t flows_evicted = 0;         // that were silent, where the table was full
  uint64_t requests_evicted = 0;      // outstanding PSNs that gave way to others
  uint64_t candidates_dropped = 0;    // candidate partners that gave way to better ones
  uint64_t responses_tied = 0;        // so many flows had the PSN outstanding that it says nothing
  uint64_t grants_dropped = 0;        // clear-to-sends overwritten before anybody used them
  uint64_t grants_ambiguous = 0;      // WRITEs whose address several flows had granted
  uint64_t restarts = 0;              // connections closed since a new incarnation began
  uint64_t restarts_ignored = 0;      // signs of a restart shortly after another
  uint64_t management_unmatched = 0;  // CM messages without their counterpart
  uint64_t closed_dropped = 0;        // closed connections no longer reported
  uint64_t flows_expired = 0;         // forgotten after long silence
  uint64_t known_refused = 0;         // known pairs beyond the limit, or several for one number
  uint64_t known_ambiguous = 0;       // known pairs whose packets several segments carry: unused
  uint64_t flows_matched_to_close = 0;  // work: flows of host pairs matched since one restarted
};

}  // namespace rocescope
