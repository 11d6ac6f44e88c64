// SPDX-License-Identifier: BSD-3-Clause
// Infers which two flows are the two directions of a connection. Packets of a reliable connection
// contain only the receiver's queue pair number. The sender's number is derived from the opposite
// direction: CM exchanges, known pairs, RETH echo and PSN echo. The UDP source port is not used.
//
// The tracker is pure and single-threaded; the same records in the same order give the same answer.
// While no table is full, the order of records across host pairs does not matter. Full tables are
// shared, so one host pair can evict entries of another (counted as requests_evicted,
// flows_evicted, flows_refused, closed_dropped). Records of one switch's taps must arrive in order
// of their event times. Times of different switches or captures are never compared.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/connection/closing.h"
#include "analytics/connection/connection.h"
#include "analytics/connection/flow_store.h"
#include "analytics/connection/known_pairs.h"
#include "analytics/connection/management.h"
#include "analytics/connection/psn_echo.h"
#include "analytics/connection/reth_echo.h"
#include "analytics/flow/flow_registry.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct ConnectionOptions {
  FlowStoreLimits limits;
  // Number of sets in the request table (128 bytes each). Must be a power of two.
  size_t request_sets = size_t{1} << 16;
  Duration maximum_response_time = std::chrono::milliseconds(50);
  size_t grants_per_direction = 256;   // per direction of a host pair
  size_t known_pairs = kFlowCapacity;  // can be more than the flows with traffic
  size_t pending_management = 65536;   // ConnectRequests waiting for their reply
  size_t closed_connections = 16384;   // kept for the answer
  // Idle time after which a flow is forgotten. Duration::max(): only when the table is full,
  // because the report of a replay covers the whole input.
  Duration forget_after = std::chrono::hours(1);
  // Signs of one restart arrive within this time.
  Duration restart_spacing = std::chrono::seconds(1);
  // Late packets of a closed connection are ignored for this time.
  Duration disconnect_grace = std::chrono::milliseconds(100);
};

// From `time` on, packets of the flow belong to a new owner of the queue pair number. A connection
// that ended at this point has the same time in valid_until.
struct FlowCut {
  FlowId flow = kNoFlow;
  Timestamp time;
};

class ConnectionTracker {
 public:
  // `flows` must outlive this object.
  explicit ConnectionTracker(FlowRegistry& flows, const ConnectionOptions& options = {});
  ConnectionTracker(const ConnectionTracker&) = delete;
  ConnectionTracker& operator=(const ConnectionTracker&) = delete;

  // Sets the topology, which must outlive the tracker. Call it before LearnTap.
  void SetFabric(const topology::Fabric& fabric) { fabric_ = &fabric; }

  // Sets the location of a tap. Sessions and ports of one switch share one clock and observe both
  // directions together. Call it before the tap's first record.
  void LearnTap(const TapLocation& place);

  void Add(FlowId flow, const FlowRecord& record);
  void Add(FlowId flow, const ObservationRecord& record);
  void Add(const ManagementRecord& record);
  void Add(const RecordBatch& batch, const BatchFlows& flows);

  // Replaces the known pairs and queue pairs. They refer to the current owners of the numbers.
  // Pairs without traffic do not occupy the flow table.
  void SetKnown(const std::vector<KnownPair>& pairs,
                const std::vector<KnownQueuePair>& queue_pairs = {});

  // Sets the event time. Flows that have been idle for too long are forgotten.
  void Advance(Timestamp now);

  // Returns open and closed connections. A flow whose partner is unknown is a connection of its
  // own, so an ambiguous connection appears twice, once for each direction. Only host pairs that
  // changed since the last call are recomputed; the rest is shared with the previous answer, and
  // without any change the same object is returned.
  std::shared_ptr<const ConnectionList> Answer();
  bool HasNews() const { return store_.has_changes(); }
  // Computes all connections from scratch, with stripes numbered from 1; for tests and benchmarks.
  std::vector<Connection> Connections() const;

  ConnectionStatistics Statistics() const;

  // Returns the flows whose incarnation ended since the last call, by a restart, a disconnect or a
  // long idle time.
  std::vector<FlowCut> TakeCuts() { return std::exchange(cuts_, {}); }

 private:
  void Approach(const std::vector<FlowId>& flows, size_t now) const;
  // Returns the tap that represents all taps of its switch: the first of them.
  TapId ObserverOf(TapId tap) const { return tap < observers_.size() ? observers_[tap] : tap; }
  std::optional<bool> IsNearSource(const FlowKey& flow, TapId observer) const;
  // Records that the flow has traffic and nothing else about it, which is sufficient if hosts
  // report its partner.
  void AddSeen(FlowId flow, const TelemetryPacket& packet, Timestamp time);
  bool HasState(FlowId flow);
  bool Touch(FlowId flow, Timestamp time);
  void AddRequest(FlowId flow, FlowAtTap& at_tap, const ObservationRecord& record);
  void Restart(FlowId flow, Timestamp time);
  void Close(FlowId flow, Timestamp time);
  void KeepClosed(Connection connection);
  void Forget(FlowId flow);
  std::vector<Connection> AnswerOf(const std::vector<HostPairKey>& pairs) const;
  void Reply(const ManagementRecord& record);
  void Disconnect(const ManagementRecord& record);

  ConnectionOptions options_;
  FlowRegistry& registry_;
  FlowStore store_;
  KnownPairs known_;
  PsnEcho psn_echo_;
  RethEcho reth_echo_;
  ConnectRequests connect_requests_;
  ClosingAnswers closings_;
  const topology::Fabric* fabric_ = nullptr;
  std::vector<TapId> observers_;                     // indexed by tap
  std::vector<topology::NodeIndex> observer_nodes_;  // indexed by tap; kNone: not in the fabric
  std::map<IpAddress, TapId> switches_;
  std::deque<Connection> closed_;
  std::vector<FlowCut> cuts_;
  std::optional<Timestamp> last_sweep_;
  ConnectionStatistics statistics_;  // counts made by this class itself
  std::shared_ptr<const ConnectionList> answer_ = std::make_shared<const ConnectionList>();
};

}  // namespace rocescope
