// SPDX-License-Identifier: BSD-3-Clause
// Which port's frames come in by which port, as flows show it: the TTL falls by one from switch to
// switch, so of a flow that keeps to one way the place with the next lower TTL is the next one on
// it. INT and sFlow tell by which port a packet left a switch, an ingress mirror only that it was
// there. Each source is held against itself alone: they look at packets before or after the TTL was
// counted down.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analytics/cabling/unknown_node_log.h"
#include "base/time.h"
#include "dataplane/record/flow_slot_index.h"
#include "dataplane/record/hint_cache.h"
#include "dataplane/record/idle_evictor.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

// Who sends: a port, or some port of a node.
struct Sender {
  topology::NodeIndex node = topology::kNone;
  topology::PortIndex port = topology::kNone;  // kNone: some port

  friend auto operator<=>(const Sender&, const Sender&) = default;
};

// What comes in by a port.
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
  static constexpr size_t kMaxPlaces = 16;  // of a flow

  // The fabric must outlive it.
  explicit Adjacency(const topology::Fabric& fabric) : fabric_(fabric) {}

  void LearnTap(const TapLocation& place);
  // Event time has reached `now`; where there is no room, who was silent by it gives way.
  void SetTime(Timestamp now) { now_ = std::max(now_, now); }

  void Add(const FlowRecord& record);
  void Add(const HopRecord& record);
  void Add(const SampleRecord& record);

  // By the port that receives.
  std::map<topology::PortIndex, Arrivals> ByReceiver() const;
  // Ports by which packets go and that have no link in the topology: how many flows, since when.
  struct Unexpected {
    uint64_t packets = 0;
    Timestamp since;
  };
  const std::map<std::pair<topology::NodeIndex, uint32_t>, Unexpected>& unexpected() const {
    return unexpected_;
  }
  // Switches that the topology has not.
  UnknownNodes strangers() const { return strangers_.Answer(); }
  uint64_t flows_refused() const { return flows_refused_; }
  uint64_t flows_evicted() const { return flows_evicted_; }  // silent ones, for others

 private:
  static constexpr size_t kMaxUnexpected = 256;

  enum class Source : uint8_t { kMirror, kPostcard, kStack, kSample };

  // Where a flow was seen with a TTL.
  struct Place {
    Source source = Source::kMirror;
    uint8_t ttl = 0;
    bool several = false;  // and elsewhere with the same one: says nothing
    topology::NodeIndex node = topology::kNone;
    topology::PortIndex in = topology::kNone;
    topology::PortIndex out = topology::kNone;
    Timestamp first;
    Timestamp last;
  };
  struct Flow {
    FlowKey key;
    topology::NicIndex source = topology::kNone;
    topology::NicIndex destination = topology::kNone;
    std::vector<Place> places;
    Timestamp heard;  // by SetTime's clock
  };

  void Add(const FlowKey& key, uint32_t hint, const Place& place);
  Flow* FindOrAdd(const FlowKey& key, uint32_t hint);
  uint32_t TakePlace();
  topology::PortIndex PortOf(topology::NodeIndex node, uint32_t number, Timestamp time);
  void CountEnds(const Flow& flow, const Place& place,
                 std::map<topology::PortIndex, Arrivals>& all) const;

  const topology::Fabric& fabric_;
  std::vector<topology::PortIndex> ingress_of_tap_;  // kNone: it says nothing
  FlowSlotIndex index_;
  HintCache hints_;
  std::vector<Flow> flows_;
  IdleEvictor<Timestamp> hand_;
  Timestamp now_;
  std::map<std::pair<topology::NodeIndex, uint32_t>, Unexpected> unexpected_;
  UnknownNodeLog strangers_;
  uint64_t flows_refused_ = 0;
  uint64_t flows_evicted_ = 0;
};

}  // namespace rocescope
