// SPDX-License-Identifier: BSD-3-Clause
// Results of the cabling analysis: where the cabling differs from the declared topology.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

enum class CableFindingKind : uint8_t {
  kSwapped,     // the ends of declared links are connected to each other's ends
  kMissing,     // no link at either end during the whole observation
  kUnexpected,  // a port carries traffic but has no link in the topology
  kDisagrees,   // the two ends cannot be on one link; the actual cabling is unknown
};

// The two ports at the ends of a cable.
using Cable = std::array<topology::PortIndex, 2>;

struct CableFinding {
  CableFindingKind kind = CableFindingKind::kDisagrees;
  std::vector<topology::LinkIndex> declared;  // ascending; empty for an unexpected port
  std::vector<Cable> real;                    // actual cables, as far as known
  // For a contradiction: the receiving port and the sending node, if nothing more is known.
  topology::PortIndex receiver = topology::kNone;
  topology::NodeIndex sender = topology::kNone;
  std::string place;           // name of an unexpected port in the telemetry, NODE:PORT
  double confidence = 0;       // 0 to 1
  uint64_t flows = 0;          // flows that contradict the declared links
  uint64_t flows_against = 0;  // flows that agree with the declared links
  uint64_t packets = 0;        // packets observed at an unexpected port
  // Bytes received beyond what the declared peers sent, or by an unexpected port.
  uint64_t bytes = 0;
  uint64_t readings = 0;       // counter readings that contradict the declared links
  bool state_differs = false;  // one end reports the link up, the other down
  Timestamp since;             // first observation
  Timestamp until;  // only in CablingAnswer::ended: when a reading showed that a link was down

  friend bool operator==(const CableFinding&, const CableFinding&) = default;
};

// Nodes that send telemetry but are not in the topology.
struct UnknownNodes {
  uint64_t records = 0;
  std::vector<std::string> examples;  // a few of their names
  bool more = false;                  // whether there are more names than listed
};

struct CablingAnswer {
  std::vector<CableFinding> findings;  // sorted by confidence, highest first
  // Cables that contradicted the topology until a link was down and now agree with it, in order of
  // `until`.
  std::vector<CableFinding> ended;
  // The number of declared links, and how many of them traffic or counters confirm or contradict.
  uint64_t links = 0;
  uint64_t confirmed = 0;
  uint64_t contradicted = 0;
  UnknownNodes counters;       // counter readings of unknown nodes
  UnknownNodes switches;       // INT hops, sFlow samples and mirrors from unknown switches
  uint64_t flows_refused = 0;  // records dropped because the table was full
  uint64_t flows_evicted = 0;  // idle flows that new ones replaced
};

}  // namespace rocescope
