// SPDX-License-Identifier: BSD-3-Clause
// The answer of the path analysis: by which links a flow went, when, and how sure that is.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/chunks/chunks.h"
#include "base/time.h"
#include "dataplane/record/record.h"
#include "topology/ecmp.h"
#include "topology/fabric.h"

namespace rocescope {

enum class PathState : uint8_t {
  kExact,      // one path alone agrees with what was seen
  kLikely,     // another one is possible and not believed
  kAmbiguous,  // several are
  kSpread,     // packets take several paths at a time
  kStray,      // what was seen agrees with no path of the declared fabric
  kUnknown,    // an address that the fabric has not, or no way between the two
};

enum class PathChange : uint8_t {
  kFirstSeen,
  kRerouted,
  kNewSourcePort,  // the UDP source port changed, and so may a hash
  kNewOwner,       // the queue pair number belongs to another connection from here on
};

// The likely cause of a change, from the strongest to none.
enum class PathReason : uint8_t {
  kUnknown,        // or there was no change
  kSwitchDown,     // all links of a switch of the old way went down at that time
  kLinkDown,       // a link of the old way did
  kLinkUp,         // a link of the new way came up
  kRehashed,      // a link of another way between the two went or came: hashes choose among others
  kLinkSilent,     // all flows left a link of the old way, and nothing was seen on it since
  kNewSourcePort,  // with which a hash takes another way
};

// Where evidence comes from.
enum PathSource : uint8_t { kFromMirror = 1, kFromInt = 2, kFromSflow = 4 };

struct PathShare {
  topology::PortIndex port = topology::kNone;  // that sends
  double share = 0;     // of the packets that went from its tier to the next: 0 to 1
  uint32_t bytes = 0;  // mean length of those that took it, on the wire; 0: not told

  friend bool operator==(const PathShare&, const PathShare&) = default;
};

// A flow's way over a stretch of time.
struct PathInterval {
  Timestamp from;   // the first packet seen on it,
  Timestamp until;  // and the last
  PathChange began = PathChange::kFirstSeen;
  PathReason reason = PathReason::kUnknown;           // of a change, likely
  topology::LinkIndex reason_link = topology::kNone;  // that went down, came up or is silent
  topology::NodeIndex reason_node = topology::kNone;  // a switch that went down
  Timestamp reason_time;                              // by which it had
  PathState state = PathState::kUnknown;
  topology::Path path;                       // exact, likely: this one; ambiguous: the likeliest
  double probability = 0;                    // that it is `path`; 0 where there is none
  uint64_t candidates = 0;                   // paths that agree
  std::vector<topology::PortIndex> certain;  // sending ports of all that agree, in order
  std::vector<PathShare> shares;             // spread: where it was seen, by port
  uint8_t sources = 0;                       // PathSource
  // Where most were seen, by a mirror if one saw any; of sFlow, times the sampling rate.
  uint64_t packets = 0;
  uint64_t bytes = 0;  // likewise: octets on the wire

  friend bool operator==(const PathInterval&, const PathInterval&) = default;
};

// Of its octets, those from `from` on and before `until`, as if they lay evenly over it.
uint64_t BytesWithin(const PathInterval& stretch, Timestamp from, Timestamp until);

struct FlowPath {
  FlowKey flow;
  topology::NicIndex source = topology::kNone;
  topology::NicIndex destination = topology::kNone;
  std::vector<PathInterval> intervals;  // in order of time; at least one

  friend bool operator==(const FlowPath&, const FlowPath&) = default;
};

using FlowPaths = Chunks<FlowPath>;  // by flow

struct PathStatistics {
  uint64_t flows_refused = 0;      // records of flows beyond the capacity
  uint64_t flows_evicted = 0;      // that were silent, where there was no room for another
  uint64_t stretches_dropped = 0;  // of flows that changed their ways very often
  uint64_t stray = 0;              // records that agree with no path of the declared fabric
};

}  // namespace rocescope
