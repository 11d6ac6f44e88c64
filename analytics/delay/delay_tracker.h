// SPDX-License-Identifier: BSD-3-Clause
// Follows single packets from switch to switch, and to a NIC and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "analytics/clock/packet_trails.h"
#include "analytics/delay/delay.h"
#include "dataplane/record/flow_key_hash.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct DelayOptions {
  Duration window = std::chrono::seconds(1);  // length of an analysis window
  size_t packets = 1u << 15;                  // packets remembered; a power of two
  size_t places = 1u << 18;
  size_t flows = 1u << 16;  // flows with CNPs; the same limit applies to flows with ACKs
  // Copies and responses that arrive later than this belong to a retransmission. It is extended to
  // the time that a link needs for `apart_frames` frames of 4 kB, at the speed that nine of ten
  // links reach.
  Duration apart = std::chrono::milliseconds(1);
  uint32_t apart_frames = 100;
};

class DelayTracker {
 public:
  // `fabric` must outlive this object.
  explicit DelayTracker(const topology::Fabric& fabric, const DelayOptions& options = {});

  void LearnTap(const TapLocation& place);
  void Add(const RecordBatch& batch);

  const Delays& delays() const { return delays_; }
  const QueueUses& queues() const { return queues_; }
  uint64_t places_refused() const { return places_refused_; }
  // Records dropped because the table of CNP or ACK flows was full of flows from the last window.
  uint64_t flows_refused() const { return flows_refused_; }
  // Delays ignored because they exceed any possible delay or a timestamp is wrong.
  uint64_t impossible() const { return impossible_; }

 private:
  struct Where {
    topology::NodeIndex node = topology::kNone;
    topology::PortIndex port = topology::kNone;  // ingress port
    int64_t stay = 0;                            // residence time in the switch in ns, by INT

    friend bool operator==(const Where& a, const Where& b) { return a.node == b.node; }
  };
  using Trails = PacketTrails<Where>;
  // The latest request with this PSN between two hosts that reached the sending NIC's switch.
  struct Request {
    uint64_t key = 0;
    FlowKey flow;
    Timestamp time;
    bool ambiguous = false;  // a request of another queue pair was in flight, too
  };
  // CNPs of one flow.
  struct CnpTrail {
    std::vector<Trails::Seen> under_way;  // CNPs that passed here and were not observed further on
    // Nodes where other CNPs were observed, here and further on.
    std::vector<topology::NodeIndex> goes_on_at;
    Timestamp last;
  };
  // A CNP that seems late may be a different one if copies are missing or reordered. It waits here
  // until all copies have arrived.
  struct LateCnp {
    uint64_t flow = 0;
    Trails::Seen from;
    Trails::Seen to;
  };
  // The observed association of ACK flows with request flows.
  struct Partner {
    FlowKey request;
    uint8_t times = 0;
    Timestamp last;
  };
  struct Way {
    int64_t quickest = 0;  // ns
    // A packet slower than the fastest by more than this was not just behind another frame.
    int64_t late = 0;
  };

  void Add(const ObservationRecord& record);
  void Add(const HopRecord& record);
  void AddCnp(const ObservationRecord& record, const Trails::Seen& seen);
  void MatchCnp(uint64_t flow, const Trails::Seen& from, const Trails::Seen& to, CnpTrail& cnps);
  void SettleCnps(Timestamp now);
  void AddTurnaround(const ObservationRecord& record, topology::NodeIndex node);
  bool AreKnownPartners(const FlowKey& ack, const FlowKey& request, Timestamp now);
  template <typename Flows>
  bool HasRoom(Flows& flows, Timestamp now, Timestamp& swept);
  QueueUse* UseOf(topology::NodeIndex node, Timestamp when);
  void CountQueue(topology::NodeIndex node, const HopRecord& record);
  static DelayKey KeyOf(DelayKind kind, const Trails::Seen& from, const Trails::Seen& to);
  void AddTransit(DelayKind kind, const Trails::Seen& from, const Trails::Seen& to);
  int64_t LateFrom(topology::NodeIndex node, uint8_t hops) const;
  void Count(const DelayKey& key, Timestamp when, int64_t ns);
  topology::NodeIndex EdgeOf(topology::NicIndex nic) const;

  const topology::Fabric& fabric_;
  const DelayOptions options_;
  const Duration apart_;
  std::vector<Where> of_tap_;
  Trails trails_;
  Trails int_trails_;
  std::vector<Request> requests_;
  std::unordered_map<uint64_t, CnpTrail> cnp_trails_;  // indexed by flow
  Delays delays_;
  std::deque<LateCnp> late_cnps_;                               // sorted in order of arrival
  std::unordered_map<FlowKey, Partner, FlowKeyHash> partners_;  // indexed by flow of the ACKs
  std::map<DelayKey, Way> ways_;
  QueueUses queues_;
  Timestamp cnps_swept_;
  Timestamp partners_swept_;
  uint64_t places_refused_ = 0;
  uint64_t flows_refused_ = 0;
  uint64_t impossible_ = 0;
};

}  // namespace rocescope
