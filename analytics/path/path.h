// SPDX-License-Identifier: BSD-3-Clause
// Results of the path analysis: which links a flow used and when, with confidence.
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
  kExact,      // exactly one path is consistent with the observations
  kLikely,     // other paths are possible but unlikely
  kAmbiguous,  // several paths are possible
  kSpread,     // packets take several paths at the same time
  kStray,      // the observations are inconsistent with every declared path
  kUnknown,    // an address is not in the topology, or there is no path
};

enum class PathChange : uint8_t {
  kFirstSeen,
  kRerouted,
  kNewSourcePort,  // the UDP source port changed, and with it possibly the ECMP hash
  kNewOwner,       // the queue pair number belongs to another connection from here on
};

// The probable cause of a path change, strongest evidence first.
enum class PathReason : uint8_t {
  kUnknown,        // unknown, or no change
  kSwitchDown,     // all links of a switch on the old path went down at that time
  kLinkDown,       // a link on the old path went down
  kLinkUp,         // a link on the new path came up
  kRehashed,       // a link of an alternative path went down or came up, so ECMP rehashed
  kLinkSilent,     // all flows left a link of the old path, and nothing was observed on it since
  kNewSourcePort,  // ECMP hashed the new source port to another path
};

// Sources of evidence.
enum PathSource : uint8_t { kFromMirror = 1, kFromInt = 2, kFromSflow = 4 };

struct PathShare {
  topology::PortIndex port = topology::kNone;  // sending port
  double share = 0;  // share of the packets from its tier to the next, 0 to 1
  // Mean frame length on the wire in bytes of the packets through this port; 0: unknown.
  uint32_t bytes = 0;

  friend bool operator==(const PathShare&, const PathShare&) = default;
};

// A flow's path over a period of time.
struct PathInterval {
  Timestamp from;   // first packet observed on it
  Timestamp until;  // last packet observed on it
  PathChange began = PathChange::kFirstSeen;
  PathReason reason = PathReason::kUnknown;  // probable cause of the change
  // Link that went down, came up or became silent.
  topology::LinkIndex reason_link = topology::kNone;
  topology::NodeIndex reason_node = topology::kNone;  // switch that went down
  Timestamp reason_time;                              // time by which it had happened
  PathState state = PathState::kUnknown;
  topology::Path path;      // the path if exact or likely; the most likely one if ambiguous
  double probability = 0;   // probability that it is `path`; 0 without a path
  uint64_t candidates = 0;  // number of consistent paths
  // Sending ports common to all consistent paths, in order.
  std::vector<topology::PortIndex> certain;
  std::vector<PathShare> shares;  // if spread: observed share of each port
  uint8_t sources = 0;            // PathSource
  // Packets at the place with most observations, preferably a mirror; for sFlow, multiplied by the
  // sampling rate.
  uint64_t packets = 0;
  uint64_t bytes = 0;  // bytes on the wire at the same place

  friend bool operator==(const PathInterval&, const PathInterval&) = default;
};

// Returns the stretch's bytes in [from, until), assuming a constant rate.
uint64_t BytesWithin(const PathInterval& stretch, Timestamp from, Timestamp until);

struct FlowPath {
  FlowKey flow;
  topology::NicIndex source = topology::kNone;
  topology::NicIndex destination = topology::kNone;
  std::vector<PathInterval> intervals;  // sorted by time; at least one

  friend bool operator==(const FlowPath&, const FlowPath&) = default;
};

using FlowPaths = Chunks<FlowPath>;  // sorted by flow

struct PathStatistics {
  uint64_t flows_refused = 0;  // records dropped because the table was full
  uint64_t flows_evicted = 0;  // idle flows evicted for new ones
  // Path intervals dropped from flows that changed their paths very often.
  uint64_t stretches_dropped = 0;
  uint64_t stray = 0;  // records inconsistent with every declared path
};

}  // namespace rocescope
