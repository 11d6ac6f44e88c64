// SPDX-License-Identifier: BSD-3-Clause
// The answer of the cabling analysis: where the fabric is not plugged as its operator declared.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

enum class CableFindingKind : uint8_t {
  kSwapped,     // declared links whose ends are connected with each other's
  kMissing,     // no link at either end, as long as anybody looked
  kUnexpected,  // a port that carries traffic and has no link in the topology
  kDisagrees,   // what is known of the two ends cannot be one link's; what is instead is not known
};

// Two ports that are one cable's.
using Cable = std::array<topology::PortIndex, 2>;

struct CableFinding {
  CableFindingKind kind = CableFindingKind::kDisagrees;
  std::vector<topology::LinkIndex> declared;  // ascending; none of an unexpected port
  std::vector<Cable> real;                    // what is connected instead, as far as known
  // Of a contradiction, the port that receives and the node that sends, where no more is known.
  topology::PortIndex receiver = topology::kNone;
  topology::NodeIndex sender = topology::kNone;
  std::string place;           // of an unexpected port, as telemetry calls it: NODE:PORT
  double confidence = 0;       // 0 to 1
  uint64_t flows = 0;          // that passed as the declared links do not let them
  uint64_t flows_against = 0;  // that passed as declared
  uint64_t packets = 0;        // that told of an unexpected port
  uint64_t bytes = 0;         // received beyond all that the declared other ends sent; or by an
                               // unexpected port
  uint64_t readings = 0;       // of counters that say so
  bool state_differs = false;  // one end says that it is up, the other that it is down
  Timestamp since;             // first seen

  friend bool operator==(const CableFinding&, const CableFinding&) = default;
};

// Somebody who tells of himself, and whom the topology does not name.
struct UnknownNodes {
  uint64_t records = 0;
  std::vector<std::string> examples;  // a few of their names
  bool more = false;                  // there are others
};

struct CablingAnswer {
  std::vector<CableFinding> findings;  // the surest first
  // Declared links, and of these: traffic or counters show that they are there.
  uint64_t links = 0;
  uint64_t confirmed = 0;
  uint64_t contradicted = 0;
  UnknownNodes counters;          // readings of nodes
  UnknownNodes switches;          // INT hops and sFlow samples of switches, and mirrors' sources
  uint64_t flows_refused = 0;  // beyond the capacity
  uint64_t flows_evicted = 0;  // that were silent, where there was no room for another
};

}  // namespace rocescope
