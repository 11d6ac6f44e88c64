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
  Duration window = std::chrono::seconds(1);  // of analysis
  size_t packets = 1u << 15;                  // remembered; a power of two
  size_t places = 1u << 18;
  size_t flows = 1u << 16;  // of notifications; likewise of ACKs
  // Copies and answers that come later are of a packet that was sent again.
  Duration apart = std::chrono::milliseconds(1);
};

class DelayTracker {
 public:
  // The fabric must outlive it.
  explicit DelayTracker(const topology::Fabric& fabric, const DelayOptions& options = {});

  void LearnTap(const TapLocation& place);
  void Add(const RecordBatch& batch);

  const Delays& delays() const { return delays_; }
  const QueueUses& queues() const { return queues_; }
  uint64_t places_refused() const { return places_refused_; }
  // Notifications and ACKs: all places were taken by flows that were there in the last window.
  uint64_t flows_refused() const { return flows_refused_; }
  uint64_t impossible() const { return impossible_; }  // delays: longer than any, or stamps wrong

 private:
  struct Where {
    topology::NodeIndex node = topology::kNone;
    topology::PortIndex port = topology::kNone;  // of ingress
    int64_t stay = 0;                            // ns in the switch, by INT

    friend bool operator==(const Where& a, const Where& b) { return a.node == b.node; }
  };
  using Trails = PacketTrails<Where>;
  // The last request between two hosts with this PSN that came to its NIC's switch.
  struct Request {
    uint64_t key = 0;
    FlowKey flow;
    Timestamp time;
    bool ambiguous = false;  // another queue pair's was under way too
  };
  // Notifications of one flow.
  struct Notices {
    std::vector<Trails::Seen> under_way;          // that went by and were not seen further on
    std::vector<topology::NodeIndex> goes_on_at;  // where others were, and further on
    Timestamp last;
  };
  // One that seems late is another one if a mirror's copies are missing or come in another order:
  // it waits until all copies have come.
  struct LateCnp {
    uint64_t flow = 0;
    Trails::Seen from;
    Trails::Seen to;
  };
  // Whose ACKs are about whose requests, by what was seen.
  struct Partner {
    FlowKey request;
    uint8_t times = 0;
    Timestamp last;
  };
  struct Way {
    int64_t quickest = 0;  // ns
    int64_t late = 0;      // more than this behind the quickest is no frame in front
  };

  void Add(const ObservationRecord& record);
  void Add(const HopRecord& record);
  void AddNotice(const ObservationRecord& record, const Trails::Seen& seen);
  void MatchNotice(uint64_t flow, const Trails::Seen& from, const Trails::Seen& to,
                   Notices& notices);
  void SettleNotices(Timestamp now);
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
  std::vector<Where> of_tap_;
  Trails trails_;
  Trails int_trails_;
  std::vector<Request> requests_;
  std::unordered_map<uint64_t, Notices> notices_;  // by flow
  Delays delays_;
  std::deque<LateCnp> late_cnps_;                               // in order of arrival
  std::unordered_map<FlowKey, Partner, FlowKeyHash> partners_;  // by the flow of the ACKs
  std::map<DelayKey, Way> ways_;
  QueueUses queues_;
  Timestamp notices_swept_;
  Timestamp partners_swept_;
  uint64_t places_refused_ = 0;
  uint64_t flows_refused_ = 0;
  uint64_t impossible_ = 0;
};

}  // namespace rocescope
