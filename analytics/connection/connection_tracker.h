// SPDX-License-Identifier: BSD-3-Clause
// Infers which two flows are the two directions of a connection (DESIGN 6.1). Packets of a reliable
// connection name the receiver's queue pair only, so the sender's has to be found by what the
// opposite direction does: CM exchanges, outside knowledge, RETH echo, PSN echo. The UDP source
// port plays no part.
//
// Pure and single-threaded; the same records in the same order give the same answer. As long as no
// table is full, order across host pairs does not matter: tables are shared, and what one host pair
// puts in may push out another's (counted: requests_evicted, flows_evicted, flows_refused,
// closed_dropped).
// Records of one switch's taps must come in the order of their event times; times of different
// switches, or of captures, are not compared.
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
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct ConnectionOptions {
  FlowStoreLimits limits;
  size_t request_sets = size_t{1} << 16;  // of outstanding requests, 128 octets each; power of two
  Duration maximum_response_time = std::chrono::milliseconds(50);
  size_t grants_per_direction = 256;   // of a host pair
  size_t known_pairs = kFlowCapacity;  // may name more than has traffic
  size_t pending_management = 65536;   // ConnectRequests that wait for their reply
  size_t closed_connections = 16384;   // kept for the answer
  // Of a flow's silence. Duration::max(): not before the table is full, for a replay's report
  // covers all of its input.
  Duration forget_after = std::chrono::hours(1);
  Duration restart_spacing = std::chrono::seconds(1);          // signs of one restart come bunched
  Duration disconnect_grace = std::chrono::milliseconds(100);  // stragglers of a closed connection
};

class ConnectionTracker {
 public:
  explicit ConnectionTracker(const ConnectionOptions& options = {});

  // What the fabric is, if anybody knows; must outlive the tracker. Before any tap is learnt.
  void SetFabric(const topology::Fabric& fabric) { fabric_ = &fabric; }

  // Says where a tap is: sessions and ports of one switch have one clock and see both directions
  // together. Before the tap's first record.
  void LearnTap(const TapLocation& place);

  void Add(const FlowRecord& record);
  void Add(const ObservationRecord& record);
  void Add(const ManagementRecord& record);
  // Says only that a flow has traffic: enough where hosts tell its partner.
  void AddSeen(const FlowKey& flow, uint8_t opcode, Timestamp time);
  void Add(const RecordBatch& batch);

  // What is known from outside from now on, of the present owners of the numbers: all that was said
  // before is forgotten. Pairs without traffic take no place among the flows.
  void SetKnown(const std::vector<KnownPair>& pairs,
                const std::vector<KnownQueuePair>& queue_pairs = {});

  // Event time has reached `now`: flows silent for long are forgotten. By these times, which are of
  // no tap, silence is told where the table is full.
  void Advance(Timestamp now);

  // Open and closed connections. A flow without a partner is a connection of its own, so an
  // ambiguous one shows up once per direction. Those of host pairs that had news since the last
  // call are worked out anew; the others are shared with what it returned, and if none had it is
  // the very same.
  std::shared_ptr<const ConnectionList> Answer();
  bool HasNews() const { return store_.has_changes(); }
  // The same without memory of what was answered, stripes numbered from 1: for tests and
  // benchmarks.
  std::vector<Connection> Connections() const;

  ConnectionStatistics Statistics() const;

  // Flows whose incarnation ended since the last call: by a restart, a disconnect, long silence.
  std::vector<FlowCut> TakeCuts() { return std::exchange(cuts_, {}); }

 private:
  template <typename Record>
  void Approach(const std::vector<Record>& records, size_t now) const;
  // What stands for all taps of a switch: the first of them.
  TapId ObserverOf(TapId tap) const { return tap < observers_.size() ? observers_[tap] : tap; }
  std::optional<bool> IsNearSource(const FlowKey& flow, TapId observer) const;
  uint32_t FindOrAdd(const FlowKey& key, uint32_t hint = kNoFlowHint);
  uint32_t Touch(const FlowKey& key, Timestamp time, uint32_t hint = kNoFlowHint);
  void AddRequest(uint32_t flow, FlowAtTap& at_tap, const ObservationRecord& record);
  void Restart(uint32_t flow, Timestamp time);
  void Close(uint32_t flow, Timestamp time);
  void KeepClosed(Connection connection);
  void Forget(uint32_t flow);
  std::vector<Connection> AnswerOf(const std::vector<HostPairKey>& pairs) const;
  void Reply(const ManagementRecord& record);
  void Disconnect(const ManagementRecord& record);

  ConnectionOptions options_;
  FlowStore store_;
  KnownPairs known_;
  PsnEcho psn_echo_;
  RethEcho reth_echo_;
  ConnectRequests connect_requests_;
  ClosingAnswers closings_;
  const topology::Fabric* fabric_ = nullptr;
  std::vector<TapId> observers_;                     // by tap
  std::vector<topology::NodeIndex> observer_nodes_;  // likewise; kNone: not in the fabric
  std::map<IpAddress, TapId> switches_;
  std::deque<Connection> closed_;
  std::vector<FlowCut> cuts_;
  std::optional<Timestamp> last_sweep_;
  ConnectionStatistics statistics_;  // what this class counts itself
  std::shared_ptr<const ConnectionList> answer_ = std::make_shared<const ConnectionList>();
};

}  // namespace rocescope
