// SPDX-License-Identifier: BSD-3-Clause
// Infers which two flows are the two directions of a connection (DESIGN 6.1). Packets of a reliable
// connection name the receiver's queue pair only, so the sender's has to be found by what the
// opposite direction does: CM exchanges, outside knowledge, RETH echo, PSN echo. The UDP source
// port plays no part.
//
// Pure and single-threaded; the same records in the same order per host pair give the same answer.
// Records of one tap must come in the order of their event times; times of different taps are not
// compared.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/connection/flow_store.h"
#include "analytics/connection/request_index.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct ConnectionOptions {
  FlowStoreLimits limits;
  size_t request_sets = size_t{1} << 16;  // of outstanding requests, 128 octets each; power of two
  Duration maximum_response_time = std::chrono::milliseconds(50);
  size_t grants_per_direction = 256;                   // of a host pair
  size_t pending_management = 65536;                   // ConnectRequests that wait for their reply
  size_t closed_connections = 16384;                   // kept for the answer
  Duration forget_after = std::chrono::hours(1);       // of a host pair's silence
  Duration restart_spacing = std::chrono::seconds(1);  // signs of one restart come bunched
  Duration disconnect_grace = std::chrono::milliseconds(100);  // stragglers of a closed connection
};

class ConnectionTracker {
 public:
  explicit ConnectionTracker(const ConnectionOptions& options = {});

  void Add(const FlowRecord& record);
  void Add(const SightingRecord& record);
  void Add(const ManagementRecord& record);
  void Add(const RecordBatch& batch);
  void AddKnown(const KnownPair& pair);

  // Event time has reached `now`: host pairs silent for long are forgotten.
  void Advance(Timestamp now);

  // Open and closed connections in the order of their endpoints and beginnings. A flow without a
  // partner is a connection of its own, so an ambiguous one shows up once per direction.
  std::vector<Connection> Connections() const;

  ConnectionStatistics Statistics() const;

  // Flows whose incarnation ended since the last call: by a restart, a disconnect, long silence.
  std::vector<FlowCut> TakeCuts() { return std::exchange(cuts_, {}); }

 private:
  struct RequestKey {  // of a ConnectRequest
    Segment segment;
    IpAddress requester;
    IpAddress replier;
    uint32_t comm_id;
    friend bool operator==(const RequestKey&, const RequestKey&) = default;
  };
  struct RequestKeyHash {
    size_t operator()(const RequestKey& key) const;
  };
  struct PendingRequest {
    Qpn qpn;
    Timestamp time;
  };

  uint32_t Touch(const FlowKey& key, Timestamp time, uint32_t hint = kNoFlowHint);
  void AddRequest(uint32_t flow, FlowAtTap& at_tap, const SightingRecord& record);
  void AddResponse(FlowAtTap& at_tap, const SightingRecord& record);
  void AddGrantAndUse(uint32_t flow, const SightingRecord& record);
  void CountUse(uint32_t granter, const GrantUse& use);
  void CountHit(FlowAtTap& at_tap, const RequestIndex::Match& match, const SightingRecord& record);
  bool RestartsIn(uint32_t flow, const FlowRecord& record);
  bool BeginsAnew(const FlowState& state, const SightingRecord& record) const;
  void Restart(uint32_t flow, Timestamp time);
  void Close(uint32_t flow, Timestamp time);
  void KeepClosed(Connection connection);
  void Reply(const ManagementRecord& record);
  void Disconnect(const ManagementRecord& record);

  ConnectionOptions options_;
  FlowStore store_;
  RequestIndex requests_;
  std::unordered_map<RequestKey, PendingRequest, RequestKeyHash> pending_;
  std::deque<RequestKey> pending_order_;
  std::deque<Connection> closed_;
  std::vector<FlowCut> cuts_;
  std::optional<Timestamp> last_sweep_;
  ConnectionStatistics statistics_;
  uint64_t grants_dropped_ = 0;  // by rings that are gone
};

}  // namespace rocescope
