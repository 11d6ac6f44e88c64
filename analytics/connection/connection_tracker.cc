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

ConnectionTracker::ConnectionTracker(const ConnectionOptions& options)
    : options_(options),
      store_(options.limits),
      known_(options.known_pairs),
      psn_echo_(options.request_sets, options.maximum_response_time),
      reth_echo_(options.grants_per_direction),
      connect_requests_(options.pending_management) {}

template <typename Record>
void ConnectionTracker::Approach(const std::vector<Record>& records, size_t now) const {
  constexpr size_t kState = 8, kTap = 4;  // records ahead
  if (now + kState < records.size()) store_.Approach(records[now + kState].hint);
  if (now + kTap < records.size()) store_.ApproachTap(records[now + kTap].hint);
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

// Whether an observer is the switch that the flow's source is plugged into.
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

void ConnectionTracker::Add(const RecordBatch& batch) {
  // A CM exchange comes before the packets of its connection, a disconnect after them.
  auto management = batch.management.begin();
  for (size_t i = 0; i < batch.sightings.size(); ++i) {
    Approach(batch.sightings, i);
    const ObservationRecord& sighting = batch.sightings[i];
    while (management != batch.management.end() && management->event_time <= sighting.event_time) {
      Add(*management++);
    }
    Add(sighting);
  }
  while (management != batch.management.end()) Add(*management++);
  for (size_t i = 0; i < batch.flows.size(); ++i) {
    Approach(batch.flows, i);
    Add(batch.flows[i]);
  }
  for (const HopRecord& hop : batch.hops) {
    if (hop.packet.known) AddSeen(hop.packet.flow, hop.packet.opcode, hop.event_time);
  }
  for (const SampleRecord& sample : batch.samples) {
    if (sample.packet.known) AddSeen(sample.packet.flow, sample.packet.opcode, sample.event_time);
  }
}

// Where there is no room, a flow that was silent for long gives way.
uint32_t ConnectionTracker::FindOrAdd(const FlowKey& key, uint32_t hint) {
  if (const uint32_t number = store_.FindOrAdd(key, hint); number != kNoFlow) return number;
  const uint32_t quiet = store_.FindQuiet(key);
  if (quiet == kNoFlow) {
    ++statistics_.flows_refused;
    return kNoFlow;
  }
  Forget(quiet);
  ++statistics_.flows_evicted;
  const uint32_t number = store_.FindOrAdd(key, hint);
  statistics_.flows_refused += number == kNoFlow;  // its host pair has no room either
  return number;
}

// The flow with its times brought up to date; kNoFlow if it is to be ignored.
uint32_t ConnectionTracker::Touch(const FlowKey& key, Timestamp time, uint32_t hint) {
  const uint32_t number = FindOrAdd(key, hint);
  if (number == kNoFlow) return kNoFlow;
  FlowState& state = store_.flow(number);
  if (state.disconnected) {
    if (time < *state.disconnected + options_.disconnect_grace) return kNoFlow;
    state.disconnected.reset();
  }
  if (!state.active) {
    state.active = true;
    state.first_seen = time;
    state.last_seen = time;
    if (!state.known_outdated) state.known = known_.Attach(key);
    if (known_.TakeBecameAmbiguous()) store_.MarkAllChanged();
  }
  store_.MarkChanged(state.pair);
  state.last_seen = std::max(state.last_seen, time);
  ++store_.pair(state.pair).records;
  return number;
}

void ConnectionTracker::Add(const FlowRecord& record) {
  const auto count = [&](OperationClass c) {
    return uint64_t{record.class_packets[static_cast<size_t>(c)]};
  };
  if (!CarriesConnection(record.flow) ||
      (record.packets > 0 && count(OperationClass::kDatagram) == record.packets)) {
    statistics_.datagrams += record.packets;
    return;
  }
  uint32_t number = Touch(record.flow, record.last_seen, record.hint);
  if (number == kNoFlow) return;
  RestartSign sign = RestartSign::kNone;
  if (FlowAtTap* const at_tap = store_.AtTap(number, ObserverOf(record.tap)); at_tap != nullptr) {
    sign = RestartSignOf(store_.flow(number), *at_tap, record);
  }
  statistics_.restarts_ignored += sign == RestartSign::kMirrorGap;
  if (sign == RestartSign::kRestart) {
    Restart(number, record.interval_start);
    number = Touch(record.flow, record.last_seen, record.hint);
    if (number == kNoFlow) return;
  }
  FlowState& state = store_.flow(number);
  if (!state.restarted || record.first_seen >= state.last_restart) {
    state.first_seen = std::min(state.first_seen, record.first_seen);
    if (record.began && !state.began) state.began = record.first_seen;
  }
}

void ConnectionTracker::Add(const ObservationRecord& record) {
  if (record.kind == ObservationKind::kDatagram || !CarriesConnection(record.flow)) {
    ++statistics_.datagrams;
    return;
  }
  uint32_t number = Touch(record.flow, record.event_time, record.hint);
  if (number == kNoFlow) return;
  if (record.kind == ObservationKind::kCnp || record.kind == ObservationKind::kNak) return;
  if (record.kind == ObservationKind::kRequest && Restarts(store_.flow(number), record)) {
    Restart(number, record.event_time);
    number = Touch(record.flow, record.event_time, record.hint);
    if (number == kNoFlow) return;
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

void ConnectionTracker::AddRequest(uint32_t number, FlowAtTap& at_tap,
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

void ConnectionTracker::AddSeen(const FlowKey& flow, uint8_t opcode, Timestamp time) {
  if (!CarriesConnection(flow) || wire::InfoOf(opcode).transport == wire::Transport::kUd) return;
  Touch(flow, time, kNoFlowHint);
}

void ConnectionTracker::SetKnown(const std::vector<KnownPair>& pairs,
                                 const std::vector<KnownQueuePair>& queue_pairs) {
  known_.Set(pairs, queue_pairs);
  for (uint32_t number = 0; number < store_.flow_slots(); ++number) {
    FlowState& state = store_.flow(number);
    state.known_outdated = false;
    state.known = state.active ? known_.Attach(state.key) : std::vector<uint32_t>();
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
  const uint32_t to_replier = FindOrAdd({.source = record.destination,
                                         .destination = record.source,
                                         .destination_qpn = message.local_qpn,
                                         .segment = record.segment});
  const uint32_t to_requester = FindOrAdd({.source = record.source,
                                           .destination = record.destination,
                                           .destination_qpn = request->qpn,
                                           .segment = record.segment});
  if (to_replier == kNoFlow || to_requester == kNoFlow) return;
  const ManagementLink* const old = store_.flow(to_replier).management.get();
  if (old != nullptr && old->partner == to_requester &&
      old->comm_ids[0] == message.remote_comm_id && old->comm_ids[1] == message.local_comm_id) {
    return;  // another tap's copy, or a repeated reply
  }
  for (const uint32_t number : {to_replier, to_requester}) {
    const FlowState& state = store_.flow(number);
    // Packets that came with this exchange are its own, whatever order the records have.
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
  const uint32_t number = store_.Find({.source = record.source,
                                       .destination = record.destination,
                                       .destination_qpn = record.message.remote_qpn,
                                       .segment = record.segment});
  if (number == kNoFlow) {
    ++statistics_.management_unmatched;
    return;
  }
  const FlowState& state = store_.flow(number);
  // The other side's request, a repetition or another tap's copy finds the connection closed.
  if (!state.active && !state.management) return;
  const uint32_t partner = state.managed_partner();
  Close(number, record.event_time);
  store_.flow(number).disconnected = record.event_time;
  if (partner != kNoFlow) store_.flow(partner).disconnected = record.event_time;
}

void ConnectionTracker::Restart(uint32_t number, Timestamp time) {
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

void ConnectionTracker::Close(uint32_t number, Timestamp time) {
  uint32_t partner = kNoFlow;
  const FlowState& closed = store_.flow(number);
  if (closed.active || closed.management) {
    PairConnection found = closings_.Of(store_, known_, number);
    found.connection.valid_until = time;
    partner = found.flows[found.flows[0] == number ? 1 : 0];  // kNoFlow unless paired
    KeepClosed(std::move(found.connection));
  }
  cuts_.push_back({.flow = store_.flow(number).key, .time = time});
  store_.Reset(number);
  if (partner == kNoFlow || partner == number) return;
  cuts_.push_back({.flow = store_.flow(partner).key, .time = time});
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
  store_.SetTime(now);
  psn_echo_.Settle(store_, now);
  if (options_.forget_after == Duration::max()) return;
  if (last_sweep_ && now < *last_sweep_ + options_.forget_after / 8) return;
  last_sweep_ = now;
  closings_.ForgetAll();
  for (uint32_t number = 0; number < store_.flow_slots(); ++number) {
    const FlowState& flow = store_.flow(number);
    if (flow.pair == kNoFlow || flow.last_seen + options_.forget_after >= now) continue;
    cuts_.push_back({.flow = flow.key, .time = now});
    Forget(number);
    ++statistics_.flows_expired;
  }
}

void ConnectionTracker::Forget(uint32_t number) {
  const FlowState& flow = store_.flow(number);
  if (const HostPair& pair = store_.pair(flow.pair); pair.flow_count() == 1) {
    reth_echo_.Forget(pair);
    closings_.Forget(flow.pair);
  }
  store_.Free(number);
}

// `pairs` in order, each once.
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
