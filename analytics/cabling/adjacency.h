// SPDX-License-Identifier: BSD-3-Clause
// Infers from flows which port's frames arrive at which port. The TTL decreases by one per switch,
// so for a flow with a single path, the observation with the next lower TTL is the next switch. INT
// and sFlow report the egress port of a switch; an ingress mirror only shows that the packet
// reached the switch. Observations of different sources are never combined, because they show the
// TTL before or after the decrement. If switches spray packets, observations of different switches
// are not combined either; only the links of hosts are inferred then.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analytics/cabling/unknown_node_log.h"
#include "analytics/flow/flow_registry.h"
#include "analytics/flow/flow_states.h"
#include "base/time.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

// A sender: a port, or an unknown port of a node.
struct Sender {
  topology::NodeIndex node = topology::kNone;
  topology::PortIndex port = topology::kNone;  // kNone: unknown port

  friend auto operator<=>(const Sender&, const Sender&) = default;
};

// What arrives at a port.
struct Arrivals {
  struct Count {
    uint64_t flows = 0;
    Timestamp since;
  };
  std::map<Sender, Count> from;
};

class Adjacency {
 public:
  static constexpr size_t kMaxFlows = 1u << 17;
  static constexpr size_t kMaxPlaces = 16;  // per flow

  // `flows` and `fabric` must outlive this object.
  Adjacency(FlowRegistry& flows, const topology::Fabric& fabric)
      : fabric_(fabric), registry_(flows), flows_(flows, kMaxFlows) {}

  void LearnTap(const TapLocation& place);

  void Add(FlowId flow, const FlowRecord& record);
  void Add(FlowId flow, const HopRecord& record);
  void Add(FlowId flow, const SampleRecord& record);

  // Discards observations at the port before `time`: its link was down, and its cable may have been
  // exchanged.
  void DiscardBefore(topology::PortIndex port, Timestamp time);

  // Keyed by the receiving port.
  std::map<topology::PortIndex, Arrivals> ByReceiver() const;
  // Ports that carry packets but have no link in the topology.
  struct Unexpected {
    uint64_t packets = 0;
    Timestamp since;
  };
  const std::map<std::pair<topology::NodeIndex, uint32_t>, Unexpected>& unexpected() const {
    return unexpected_;
  }
  // Switches that are not in the topology.
  UnknownNodes strangers() const { return strangers_.Answer(); }
  uint64_t flows_refused() const { return flows_.refused(); }
  uint64_t flows_evicted() const { return flows_.evicted(); }  // idle flows evicted for new ones

 private:
  static constexpr size_t kMaxUnexpected = 256;

  enum class Source : uint8_t { kMirror, kPostcard, kStack, kSample };

  // Where a flow was observed with a given TTL.
  struct Place {
    Source source = Source::kMirror;
    uint8_t ttl = 0;
    bool several = false;   // also observed elsewhere with the same TTL: ambiguous, ignored
    bool is_latest = true;  // the flow was not observed elsewhere with the same TTL since
    uint32_t returns = 0;   // times that it was, and then here again
    topology::NodeIndex node = topology::kNone;
    topology::PortIndex in = topology::kNone;
    topology::PortIndex out = topology::kNone;
    Timestamp first;
    Timestamp last;
  };
  struct Flow {
    topology::NicIndex source = topology::kNone;
    topology::NicIndex destination = topology::kNone;
    std::vector<Place> places;
    bool is_incomplete = false;  // a place was not stored, because there were too many
  };

  void Add(FlowId flow, const Place& place);
  // Whether many flows change their path again and again. A flow that is observed once at each of
  // two switches may then have taken another path for each observation.
  bool IsSpraying() const;
  // The places of the flow without the discarded ones, in order of decreasing TTL for each source.
  void FindCurrent(const Flow& flow, std::vector<Place>& places) const;
  Timestamp ValidFrom(const Place& place) const;
  topology::PortIndex PortOf(topology::NodeIndex node, uint32_t number, Timestamp time);
  void CountEnds(const Flow& flow, const Place& place,
                 std::map<topology::PortIndex, Arrivals>& all) const;

  const topology::Fabric& fabric_;
  // kNone: the tap does not identify an ingress port
  std::vector<topology::PortIndex> ingress_of_tap_;
  const FlowRegistry& registry_;
  FlowStates<Flow> flows_;
  // Indexed by port: earlier observations are discarded.
  std::unordered_map<topology::PortIndex, Timestamp> valid_from_;
  std::map<std::pair<topology::NodeIndex, uint32_t>, Unexpected> unexpected_;
  UnknownNodeLog strangers_;
};

}  // namespace rocescope
