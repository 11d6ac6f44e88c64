// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/connection_tracker.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analytics/connection/incarnation.h"
#include "analytics/connection/pair_answer.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {
namespace {

bool CarriesConnection(const FlowKey& key) { return key.destination_qpn > kManagementQpn; }

}  // namespace

ConnectionTracker::ConnectionTracker(FlowRegistry& flows, const ConnectionOptions& options)
    : options_(options),
      registry_(flows),
      store_(flows, options.limits),
      known_(options.known_pairs),
      psn_echo_(options.request_sets, options.maximum_response_time),
      reth_echo_(options.grants_per_direction),
      connect_requests_(options.pending_management) {
  flows.OnEviction([this](FlowId flow) {
    if (!store_.Has(flow)) return;
    std::erase_if(cuts_, [&](const FlowCut& cut) { return cut.flow == flow; });
    Forget(flow);
    ++statistics_.flows_evicted;
  });
}

void ConnectionTracker::Approach(const std::vector<FlowId>& flows, size_t now) const {
  constexpr size_t kState = 8, kTap = 4;  // records ahead
  if (now + kState < flows.size()) store_.Approach(flows[now + kState]);
  if (now + kTap < flows.size()) store_.ApproachTap(flows[now + kTap]);
}

void ConnectionTracker::LearnTap(const TapLocation& place) {
  for (size_t tap = observers_.size(); tap <= place.tap; ++tap) {
    observers_.push_back(static_cast<TapId>(tap));
  }
  observer_nodes_.resize(observers_.size(), topology::kNone);
  if (fabric_ != nullptr) {
    observer_nodes_[place.tap] = fabric_->FindSwitchByErspan(place.switch_address);
  }
  observers_[place.tap] = switches_.try_emplace(place.switch_address, place.tap).first->second;
}

// Whether an observer is the switch to which the flow's source is connected.
std::optional<bool> ConnectionTracker::IsNearSource(const FlowKey& flow, TapId observer) const {
  if (fabric_ == nullptr || observer >= observer_nodes_.size() ||
      observer_nodes_[observer] == topology::kNone) {
    return std::nullopt;
  }
  const topology::NicIndex nic =
      fabric_->FindNic({.segment = flow.segment, .address = flow.source});
  if (nic == topology::kNone) return std::nullopt;
  return fabric_->PeerNode(fabric_->nic(nic).port) == observer_nodes_[observer];
}

void ConnectionTracker::Add(const RecordBatch& batch, const BatchFlows& flows) {
  // A CM exchange precedes the packets of its connection, a disconnect follows them.
  auto management = batch.management.begin();
  for (size_t i = 0; i < batch.sightings.size(); ++i) {
    Approach(flows.sightings, i);
    const ObservationRecord& sighting = batch.sightings[i];
    while (management != batch.management.end() && management->event_time <= sighting.event_time) {
      Add(*management++);
    }
    Add(flows.sightings[i], sighting);
  }
  while (management != batch.management.end()) Add(*management++);
  for (size_t i = 0; i < batch.flows.size(); ++i) {
    Approach(flows.flows, i);
    Add(flows.flows[i], batch.flows[i]);
  }
  const auto add_seen = [&](FlowId flow, const auto& record) {
    if (record.packet.known) AddSeen(flow, record.packet, record.event_time);
  };
  for (size_t i = 0; i < batch.hops.size(); ++i) add_seen(flows.hops[i], batch.hops[i]);
  for (size_t i = 0; i < batch.samples.size(); ++i) add_seen(flows.samples[i], batch.samples[i]);
}

// Creates the flow's state if necessary. If its host pair is full, an idle flow of the pair is
// evicted. Returns false if the flow cannot be tracked.
bool ConnectionTracker::HasState(FlowId number) {
  if (number != kNoFlow && store_.Add(number)) return true;
  const FlowId quiet = number == kNoFlow ? kNoFlow : store_.FindQuiet(number);
  if (quiet == kNoFlow) {
    ++statistics_.flows_refused;
    return false;
  }
  Forget(quiet);
  ++statistics_.flows_evicted;
  return store_.Add(number);
}

// Updates the flow's times. Returns false if the record is to be ignored.
bool ConnectionTracker::Touch(FlowId number, Timestamp time) {
  if (!HasState(number)) return false;
  FlowState& state = store_.flow(number);
  if (state.disconnected) {
    if (time < *state.disconnected + options_.disconnect_grace) return false;
    state.disconnected.reset();
  }
  if (!state.active) {
    state.active = true;
    state.first_seen = time;
    state.last_seen = time;
    if (!state.known_outdated) state.known = known_.Attach(registry_.key(number));
    if (known_.TakeBecameAmbiguous()) store_.MarkAllChanged();
  }
  store_.MarkChanged(state.pair);
  state.last_seen = std::max(state.last_seen, time);
  ++store_.pair(state.pair).records;
  return true;
}

void ConnectionTracker::Add(FlowId number, const FlowRecord& record) {
  const auto count = [&](OperationClass c) {
    return uint64_t{record.class_packets[static_cast<size_t>(c)]};
  };
  if (!CarriesConnection(record.flow) ||
      (record.packets > 0 && count(OperationClass::kDatagram) == record.packets)) {
    statistics_.datagrams += record.packets;
    return;
  }
  if (!Touch(number, record.last_seen)) return;
  RestartSign sign = RestartSign::kNone;
  if (FlowAtTap* const at_tap = store_.AtTap(number, ObserverOf(record.tap)); at_tap != nullptr) {
    sign = RestartSignOf(store_.flow(number), *at_tap, record);
  }
  statistics_.restarts_ignored += sign == RestartSign::kMirrorGap;
  if (sign == RestartSign::kRestart) {
    Restart(number, record.interval_start);
    if (!Touch(number, record.last_seen)) return;
  }
  FlowState& state = store_.flow(number);
  if (!state.restarted || record.first_seen >= state.last_restart) {
    state.first_seen = std::min(state.first_seen, record.first_seen);
    if (record.began && !state.began) state.began = record.first_seen;
  }
}

void ConnectionTracker::Add(FlowId number, const ObservationRecord& record) {
  if (record.kind == ObservationKind::kDatagram || !CarriesConnection(record.flow)) {
    ++statistics_.datagrams;
    return;
  }
  if (!Touch(number, record.event_time)) return;
  if (record.kind == ObservationKind::kCnp || record.kind == ObservationKind::kNak) return;
  if (record.kind == ObservationKind::kRequest && Restarts(store_.flow(number), record)) {
    Restart(number, record.event_time);
    if (!Touch(number, record.event_time)) return;
  }
  bool is_new = false;
  FlowAtTap* const at_tap = store_.AtTap(number, ObserverOf(record.tap), &is_new);
  if (at_tap == nullptr) return;
  if (is_new) at_tap->near_source = IsNearSource(record.flow, at_tap->tap);
  at_tap->ttl = record.ttl;
  if (record.kind == ObservationKind::kRequest) {
    AddRequest(number, *at_tap, record);
  } else {
    psn_echo_.AddResponse(store_, *at_tap, record);
    psn_echo_.Settle(store_, record.event_time);
  }
}

void ConnectionTracker::AddRequest(FlowId number, FlowAtTap& at_tap,
                                   const ObservationRecord& record) {
  const wire::OpcodeInfo& info = wire::InfoOf(record.opcode);
  FlowState& state = store_.flow(number);
  if (info.transport == wire::Transport::kUc) state.transport = ConnectionTransport::kUnreliable;
  if (!state.requested || PsnDistance(state.last_request_psn, record.psn) > 0) {
    state.last_request_psn = record.psn;
  }
  state.requested = true;
  if (record.psn == 0 && info.starts) {
    if (!state.began) state.began = record.event_time;
    state.zero_seen = true;
    state.zero_address = record.reth_address;
    state.zero_rkey = record.reth_rkey;
  }
  if (!at_tap.sends_requests) {
    at_tap.sends_requests = true;
    at_tap.first_request = record.event_time;
    ++store_.requesters(at_tap.channel);
  }
  psn_echo_.AddRequest(store_, at_tap, record);
  if (info.operation == wire::Operation::kWrite && (record.has_reth || record.has_clear_to_send)) {
    reth_echo_.Add(store_, number, record);
  }
}

void ConnectionTracker::AddSeen(FlowId flow, const TelemetryPacket& packet, Timestamp time) {
  if (!CarriesConnection(packet.flow) ||
      wire::InfoOf(packet.opcode).transport == wire::Transport::kUd) {
    return;
  }
  Touch(flow, time);
}

void ConnectionTracker::SetKnown(const std::vector<KnownPair>& pairs,
                                 const std::vector<KnownQueuePair>& queue_pairs) {
  known_.Set(pairs, queue_pairs);
  for (FlowId number = 0; number < store_.flow_slots(); ++number) {
    FlowState& state = store_.flow(number);
    state.known_outdated = false;
    state.known = state.active ? known_.Attach(registry_.key(number)) : std::vector<uint32_t>();
  }
  known_.TakeBecameAmbiguous();
  store_.MarkAllChanged();
  closings_.ForgetAll();
}

void ConnectionTracker::Add(const ManagementRecord& record) {
  switch (record.message.attribute) {
    case wire::CmAttribute::kConnectRequest:
      return connect_requests_.Add(record);
    case wire::CmAttribute::kConnectReply:
      return Reply(record);
    case wire::CmAttribute::kDisconnectRequest:
      return Disconnect(record);
    default:
      return;
  }
}

void ConnectionTracker::Reply(const ManagementRecord& record) {
  const wire::CmMessage& message = record.message;
  const std::optional<ConnectRequests::Request> request = connect_requests_.AnsweredBy(record);
  if (!request) {
    ++statistics_.management_unmatched;
    return;
  }
  const FlowId to_replier = registry_.Intern({.source = record.destination,
                                              .destination = record.source,
                                              .destination_qpn = message.local_qpn,
                                              .segment = record.segment});
  const FlowId to_requester = registry_.Intern({.source = record.source,
                                                .destination = record.destination,
                                                .destination_qpn = request->qpn,
                                                .segment = record.segment});
  if (!HasState(to_replier) || !HasState(to_requester)) return;
  const ManagementLink* const old = store_.flow(to_replier).management.get();
  if (old != nullptr && old->partner == to_requester &&
      old->comm_ids[0] == message.remote_comm_id && old->comm_ids[1] == message.local_comm_id) {
    return;  // another tap's copy, or a repeated reply
  }
  for (const FlowId number : {to_replier, to_requester}) {
    const FlowState& state = store_.flow(number);
    // Packets that arrived close to this exchange belong to it, whatever the order of the records.
    const bool older = state.active && state.first_seen + options_.restart_spacing < request->time;
    if (older || state.management) Close(number, request->time);
    store_.flow(number).disconnected.reset();
  }
  for (const auto& [own, partner] :
       {std::pair(to_replier, to_requester), std::pair(to_requester, to_replier)}) {
    FlowState& state = store_.flow(own);
    state.management = std::make_unique<ManagementLink>(
        ManagementLink{.partner = partner,
                       .tap = record.tap,
                       .request = request->time,
                       .reply = record.event_time,
                       .comm_ids = {message.remote_comm_id, message.local_comm_id}});
    state.last_seen = std::max(state.last_seen, record.event_time);
    store_.MarkChanged(state.pair);
  }
}

void ConnectionTracker::Disconnect(const ManagementRecord& record) {
  const FlowId number = store_.Find({.source = record.source,
                                     .destination = record.destination,
                                     .destination_qpn = record.message.remote_qpn,
                                     .segment = record.segment});
  if (number == kNoFlow) {
    ++statistics_.management_unmatched;
    return;
  }
  const FlowState& state = store_.flow(number);
  // The connection is already closed: this is the other side's request, a repetition or another
  // tap's copy.
  if (!state.active && !state.management) return;
  const uint32_t partner = state.managed_partner();
  Close(number, record.event_time);
  store_.flow(number).disconnected = record.event_time;
  if (partner != kNoFlow) store_.flow(partner).disconnected = record.event_time;
}

void ConnectionTracker::Restart(FlowId number, Timestamp time) {
  FlowState& state = store_.flow(number);
  if (IsKnownRestart(state, time, options_.restart_spacing)) {
    state.partner_restarted = false;
    ++statistics_.restarts_ignored;
    return;
  }
  Close(number, time);
  FlowState& closed = store_.flow(number);
  closed.restarted = true;
  closed.partner_restarted = false;
  closed.last_restart = time;
  ++statistics_.restarts;
}

void ConnectionTracker::Close(FlowId number, Timestamp time) {
  FlowId partner = kNoFlow;
  const FlowState& closed = store_.flow(number);
  if (closed.active || closed.management) {
    PairConnection found = closings_.Of(store_, known_, number);
    found.connection.valid_until = time;
    partner = found.flows[found.flows[0] == number ? 1 : 0];  // kNoFlow unless paired
    KeepClosed(std::move(found.connection));
  }
  cuts_.push_back({.flow = number, .time = time});
  store_.Reset(number);
  if (partner == kNoFlow || partner == number) return;
  cuts_.push_back({.flow = partner, .time = time});
  store_.Reset(partner);
  FlowState& state = store_.flow(partner);
  state.restarted = true;
  state.partner_restarted = true;
  state.last_restart = time;
}

void ConnectionTracker::KeepClosed(Connection connection) {
  store_.MarkChanged(HostPairOf(connection));
  closed_.push_back(std::move(connection));
  if (closed_.size() > options_.closed_connections) {
    store_.MarkChanged(HostPairOf(closed_.front()));
    closed_.pop_front();
    ++statistics_.closed_dropped;
  }
}

void ConnectionTracker::Advance(Timestamp now) {
  psn_echo_.Settle(store_, now);
  if (options_.forget_after == Duration::max()) return;
  if (last_sweep_ && now < *last_sweep_ + options_.forget_after / 8) return;
  last_sweep_ = now;
  closings_.ForgetAll();
  for (FlowId number = 0; number < store_.flow_slots(); ++number) {
    const FlowState& flow = store_.flow(number);
    if (flow.pair == kNoFlow || flow.last_seen + options_.forget_after >= now) continue;
    cuts_.push_back({.flow = number, .time = now});
    Forget(number);
    ++statistics_.flows_expired;
  }
}

void ConnectionTracker::Forget(FlowId number) {
  const FlowState& flow = store_.flow(number);
  if (const HostPair& pair = store_.pair(flow.pair); pair.flow_count() == 1) {
    reth_echo_.Forget(pair);
    closings_.Forget(flow.pair);
  }
  store_.Free(number);
}

// `pairs` is sorted and unique.
std::vector<Connection> ConnectionTracker::AnswerOf(const std::vector<HostPairKey>& pairs) const {
  std::vector<std::pair<HostPairKey, size_t>> closed;
  for (size_t i = 0; i < closed_.size(); ++i) {
    const HostPairKey pair = HostPairOf(closed_[i]);
    if (std::ranges::binary_search(pairs, pair)) closed.emplace_back(pair, i);
  }
  std::ranges::sort(closed);
  std::vector<Connection> all;
  auto next = closed.begin();
  for (const HostPairKey& pair : pairs) {
    const auto begin = static_cast<std::ptrdiff_t>(all.size());
    for (; next != closed.end() && next->first == pair; ++next)
      all.push_back(closed_[next->second]);
    if (const uint32_t number = store_.FindPair(pair); number != kNoFlow) {
      for (PairConnection& found : AnswerPair(store_, known_, number)) {
        all.push_back(std::move(found.connection));
      }
    }
    std::sort(all.begin() + begin, all.end(), [](const Connection& a, const Connection& b) {
      return std::tie(a.endpoints, a.valid_from, a.last_seen, a.valid_until) <
             std::tie(b.endpoints, b.valid_from, b.last_seen, b.valid_until);
    });
  }
  return all;
}

std::shared_ptr<const ConnectionList> ConnectionTracker::Answer() {
  if (!store_.has_changes()) return answer_;
  const std::vector<HostPairKey> pairs = store_.TakeChanged();
  answer_ =
      std::make_shared<const ConnectionList>(answer_->With(pairs, AnswerOf(pairs), HostPairOf));
  return answer_;
}

std::vector<Connection> ConnectionTracker::Connections() const {
  std::vector<HostPairKey> pairs;
  for (uint32_t i = 0; i < store_.pair_slots(); ++i) pairs.push_back(store_.pair(i).key);
  for (const Connection& connection : closed_) pairs.push_back(HostPairOf(connection));
  std::ranges::sort(pairs);
  pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
  std::vector<Connection> all = AnswerOf(pairs);
  StripeNumbers numbers;
  for (Connection& connection : all) connection.stripe_group = numbers.Of(connection);
  return all;
}

ConnectionStatistics ConnectionTracker::Statistics() const {
  ConnectionStatistics statistics = statistics_;
  statistics.requests_evicted = psn_echo_.requests_evicted();
  statistics.responses_tied = psn_echo_.responses_tied();
  statistics.candidates_dropped = psn_echo_.candidates_dropped() + reth_echo_.candidates_dropped();
  statistics.grants_dropped = reth_echo_.GrantsDropped(store_);
  statistics.grants_ambiguous = reth_echo_.grants_ambiguous();
  statistics.management_unmatched += connect_requests_.dropped();
  statistics.known_refused = known_.refused();
  statistics.known_ambiguous = known_.ambiguous();
  statistics.flows_matched_to_close = closings_.flows_matched();
  return statistics;
}

}  // namespace rocescope
